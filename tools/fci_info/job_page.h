// SPDX-License-Identifier: BSD-3-Clause
// JobPage: the report of another process, read and checked. Nothing in it is believed: it may be of
// another version, half written, or hostile.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fci_core/base/report.h"

namespace fci::tools::info {

enum class PageState {
    good,
    not_open,       // the context is just being opened or closed
    other_version,  // of FCI, whose fci_info can read it
    damaged,        // no report, whatever its name says
};

/// `page` good: a copy whose texts end and are printable.
PageState check_page(std::span<const std::byte> bytes, Report* page);
/// From a descriptor that may be anything.
PageState read_page(int file, Report* page);
/// Likewise: the rows up to the first that is none, with texts that end and are printable.
std::vector<PeerRow> read_rows(int file);

/// Without anything that a terminal would obey.
std::string printable(std::string text);

}  // namespace fci::tools::info
