// Queues of the miniature simulator, linked lists as those of the real one.
#pragma once
#include <stddef.h>

template <class T>
struct fifo_data {
    T* m_data = NULL;
    fifo_data* m_next = NULL;
};

template <class T>
class fifo_pipeline {
public:
    bool empty() const { return m_head == NULL; }
    unsigned get_length() const { return m_length; }
    void push(T* data) {
        fifo_data<T>** last = &m_head;
        while (*last != NULL) last = &(*last)->m_next;
        *last = new fifo_data<T>;
        (*last)->m_data = data;
        ++m_length;
    }
    void pop() {
        if (m_head == NULL) return;
        fifo_data<T>* first = m_head;
        m_head = first->m_next;
        delete first;
        --m_length;
    }

private:
    unsigned m_min_len = 0, m_length = 0;
    fifo_data<T>* m_head = NULL;
};
