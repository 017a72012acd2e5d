// What the scheduler says of the calling thread.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "fci_core/base/status.h"

namespace fci::progress {

/// -1: this kernel does not tell.
inline Nanoseconds slice_of_thread() {
    std::ifstream file("/proc/thread-self/sched");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name, colon;
        Nanoseconds value = -1;
        if (words >> name >> colon >> value && name == "se.slice") return value;
    }
    return -1;
}

}  // namespace fci::progress
