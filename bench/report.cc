// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace fci::bench {

void Report::begin() {
    if (began_ || json_) return;
    std::printf("%s\n", title_.c_str());
    for (const auto& [name, text] : facts_) std::printf("%s: %s\n", name.c_str(), text.c_str());
    began_ = true;
}

void Report::heading(const char* text) {
    begin();
    if (!json_) std::printf("\n%s\n", text);
}

void Report::add(Row row) {
    rows_.push_back(row);
    if (json_) return;
    begin();
    const int digits = row.value >= 100 ? 1 : row.value >= 1 ? 2 : 4;
    std::printf("  %-34s %8s %12.*f %-6s", row.what.c_str(),
                row.sized ? size_text(row.bytes).c_str() : "", digits, row.value,
                row.unit);
    const bool own = row.around.before > 0 || row.around.after > 0;
    const double tc = own ? row.around.tc_ns() : tc_ns_;
    if (std::strcmp(row.unit, "ns") == 0 && tc > 0) std::printf(" %9.2f t_c", row.value / tc);
    if (own && !row.around.steady()) {
        std::printf("  (t_c changed: %.0f, %.0f ns)", row.around.before, row.around.after);
    }
    std::printf("\n");
    std::fflush(stdout);
}

void Report::finish() {
    if (!json_) return;
    nlohmann::ordered_json all;
    all["title"] = title_;
    for (const auto& [name, text] : facts_) all[name] = text;
    if (tc_ns_ > 0) {
        all["tc_ns"] = tc_ns_;
        all["mode"] = name_of(mode_of(tc_ns_));
    }
    all["rows"] = nlohmann::ordered_json::array();
    for (const Row& row : rows_) {
        nlohmann::ordered_json one;
        one["what"] = row.what;
        if (row.sized) one["bytes"] = row.bytes;
        one["value"] = row.value;
        one["unit"] = row.unit;
        if (row.around.before > 0 || row.around.after > 0) {
            one["tc_before_ns"] = row.around.before;
            one["tc_after_ns"] = row.around.after;
            one["mode"] = row.around.steady() ? name_of(mode_of(row.around.tc_ns())) : "changed";
        }
        all["rows"].push_back(one);
    }
    std::printf("%s\n", all.dump(2).c_str());
}

std::string size_text(std::size_t bytes) {
    if (bytes >= 1u << 20 && bytes % (1u << 20) == 0) return std::to_string(bytes >> 20) + "M";
    if (bytes >= 1u << 10 && bytes % (1u << 10) == 0) return std::to_string(bytes >> 10) + "K";
    return std::to_string(bytes);
}

bool parse_size(const std::string& text, std::size_t* bytes) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return false;
    char* end = nullptr;
    const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
    unsigned shift = 0;
    if (*end == 'K' || *end == 'k') shift = 10;
    if (*end == 'M' || *end == 'm') shift = 20;
    if (*end == 'G' || *end == 'g') shift = 30;
    if (shift != 0) ++end;
    if (*end != '\0' || number > (~0ull >> 1) >> shift) return false;
    *bytes = static_cast<std::size_t>(number << shift);
    return true;
}

}  // namespace fci::bench
