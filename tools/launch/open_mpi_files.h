// SPDX-License-Identifier: BSD-3-Clause
// OpenMpiFiles: what the files of an Open MPI tell of it, without asking its ompi_info, which takes
// a quarter of a second.
#pragma once

#include <string>

#include "tools/launch/mpirun.h"

namespace fci::tools {

class OpenMpiFiles {
public:
    /// `library`: its libmpi; where that is empty, only the launcher is known.
    OpenMpiFiles(const std::string& library, const Launcher& launcher);

    /// "4.1"; empty: this Open MPI loads no components, as that of the wheel.
    [[nodiscard]] std::string release() const;
    /// Its parts include the one for libfabric; also where that is not to be seen.
    [[nodiscard]] bool has_libfabric() const;

private:
    std::string library_, version_;
    std::string core_;  // its libopen-pal; empty: not found
};

}  // namespace fci::tools
