// The scheduler of a DRAM channel, of the miniature simulator: it keeps writes until there are more than it may.
#pragma once

enum memory_mode { READ_MODE = 0, WRITE_MODE };

class frfcfs_scheduler {
public:
    unsigned num_pending() const { return 0; }
    unsigned num_write_pending() const { return m_writes; }

private:
    unsigned m_writes = 1;
    memory_mode m_mode = READ_MODE;
};
