#include "runtime/embedding/stack.h"

#include <pthread.h>

#include <cstdint>
#include <string>

#include "runtime/embedding/failure.h"

namespace kernelpoint::embedding {
namespace {

struct Stack {
    uintptr_t low = 0, high = 0;  // both 0: unknown
};

Stack own_stack() {
    Stack stack;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
    void* low = nullptr;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0)
        stack = {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + size};
    pthread_attr_destroy(&attributes);
    return stack;
}

}  // namespace

void check_stack() {
    thread_local const Stack stack = own_stack();
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here < stack.low || here >= stack.high || here - stack.low >= kLeastStack) return;
    throw Failure(KP_EINVAL, "the calling thread has " + std::to_string((here - stack.low) >> 10) +
                                 " KiB of stack left, the plugin needs " + std::to_string(kLeastStack >> 10) +
                                 ": call it from a thread with more (pthread_attr_setstacksize)");
}

}  // namespace kernelpoint::embedding
