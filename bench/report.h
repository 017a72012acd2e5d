// SPDX-License-Identifier: BSD-3-Clause
// Report: rows of figures, as text for people or JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/floor.h"

namespace fci::bench {

struct Row {
    std::string what;
    std::size_t bytes = 0;  // with `sized`
    bool sized = false;
    double value = 0;
    const char* unit = "ns";  // "ns": also shown in t_c
    Around around{};          // t_c of this row's own sample; zeros: of the whole report
};

class Report {
public:
    Report(std::string title, bool json) : title_(std::move(title)), json_(json) {}

    /// Of the whole report: what is not a row.
    void fact(std::string name, std::string text) { facts_.emplace_back(name, text); }
    void tc(double tc_ns) { tc_ns_ = tc_ns; }
    /// Text is printed at once, so that progress shows; JSON at the end.
    void add(Row row);
    void heading(const char* text);
    void finish();

private:
    void begin();

    std::string title_;
    bool json_;
    bool began_ = false;
    double tc_ns_ = 0;
    std::vector<std::pair<std::string, std::string>> facts_;
    std::vector<Row> rows_;
};

/// 8, 1K, 64K, 1M.
[[nodiscard]] std::string size_text(std::size_t bytes);
/// The reverse; false where the text is not a size.
bool parse_size(const std::string& text, std::size_t* bytes);

}  // namespace fci::bench
