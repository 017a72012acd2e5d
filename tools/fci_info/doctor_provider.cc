// SPDX-License-Identifier: BSD-3-Clause
// The libfabric provider: where it is, whether it loads, and what keeps libfabric from it.
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "tools/fci_info/doctor.h"

namespace fci::tools::info {

namespace {

constexpr const char* kFile = "libfci-fi.so";
constexpr const char* kLibfabric = "libfabric.so.1";

/// Directories of FI_PROVIDER_PATH; libfabric's marks '@' and '+' in front are not part of a name.
std::vector<std::string> provider_path() {
    std::vector<std::string> entries = split(environment("FI_PROVIDER_PATH"), ":");
    for (std::string& entry : entries) {
        if (entry.front() == '@' || entry.front() == '+') entry.erase(0, 1);
    }
    return entries;
}

/// The file that an entry of FI_PROVIDER_PATH leads to, if it does.
std::string file_at(const std::string& entry) {
    const std::string inside = entry + "/" + kFile;
    if (is_file(inside)) return inside;
    const bool itself = entry.size() > std::string(kFile).size() && entry.ends_with(kFile);
    return itself && is_file(entry) ? entry : "";
}

std::string advice_for(const std::string& error) {
    if (error.find("FABRIC_") != std::string::npos) {
        return "This libfabric is older than the one that the provider was built with: build FCI "
               "with the libfabric that is used here.";
    }
    if (error.find(kLibfabric) != std::string::npos) {
        return "libfabric is not installed, or not where the loader looks (Debian: apt-get install "
               "libfabric1; elsewhere: LD_LIBRARY_PATH).";
    }
    if (error.find("libfci.so") != std::string::npos) {
        return "The provider was moved away from libfci.so: set LD_LIBRARY_PATH to its "
               "directory, or install FCI again.";
    }
    if (error.find("version `FCI'") != std::string::npos ||
        error.find("fci_icl") != std::string::npos) {
        return "Provider and libfci.so are of different versions: install both from one build.";
    }
    return "Install FCI again.";
}

std::vector<std::string> other_providers(const std::string& directory) {
    std::vector<std::string> names;
    if (DIR* const open = opendir(directory.c_str())) {
        while (const dirent* const entry = readdir(open)) {
            const std::string name(entry->d_name);
            if (name.ends_with("-fi.so") && name != kFile) names.push_back(name);
        }
        closedir(open);
    }
    std::sort(names.begin(), names.end());
    return names;
}

void examine_libfabric(const std::string& libfabric, Findings* findings) {
    void* const library = dlopen(libfabric.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const std::string error = dlerror();
        add_problem(findings, "libfabric", error, advice_for(error));
        return;
    }
    const auto version = reinterpret_cast<std::uint32_t (*)()>(dlsym(library, "fi_version"));
    Dl_info where{};
    if (version == nullptr || dladdr(reinterpret_cast<void*>(version), &where) == 0) {
        add_problem(findings, "libfabric", "has no fi_version", "Install libfabric again.");
        return;
    }
    const unsigned major = version() >> 16, minor = version() & 0xffff;
    const std::string text = std::to_string(major) + "." + std::to_string(minor) + ", " +
                             real_path(where.dli_fname);
    if (major > 1 || minor >= 17) {
        add_ok(findings, "libfabric", text);
    } else {
        add_problem(findings, "libfabric", text + " is too old", "FCI needs 1.17 or newer.");
    }
}

void examine_provider_filter(Findings* findings) {
    const std::string filter = environment("FI_PROVIDER");
    if (filter.empty()) {
        add_ok(findings, "FI_PROVIDER",
               "not set: fci is offered, but behind all others; FI_PROVIDER=fci puts it first");
        return;
    }
    const bool excludes = filter.front() == '^';
    const auto names = split(excludes ? filter.substr(1) : filter, ",;");
    const bool named = std::find(names.begin(), names.end(), "fci") != names.end();
    if (named != excludes) {
        add_ok(findings, "FI_PROVIDER", "'" + filter + "' lets fci through");
    } else {
        add_setting_problem(
            findings, "FI_PROVIDER", "'" + filter + "' hides fci",
            excludes ? "Take fci out of the list." : "Add fci to the list, or unset it.");
    }
}

}  // namespace

std::vector<std::string> own_places() {
    std::vector<std::string> places;
    Dl_info self{};
    if (dladdr(reinterpret_cast<void*>(&fci_icl_open), &self) != 0 && self.dli_fname != nullptr) {
        const std::string beside = directory_of(real_path(self.dli_fname));
        places.push_back(beside + "/fci");
        places.push_back(beside);
    }
    places.push_back(FCI_PROVIDER_DIRECTORY);
    return places;
}

std::string find_provider(const std::string& wanted, Findings* findings) {
    std::vector<std::string> places = provider_path();
    if (!wanted.empty()) {
        places = {wanted};
    } else {
        for (std::string& place : own_places()) places.push_back(std::move(place));
    }
    std::string looked;
    for (const std::string& place : places) {
        const std::string path = file_at(place);
        if (!path.empty()) {
            add_ok(findings, "provider", real_path(path));
            return path;
        }
        looked += (looked.empty() ? "" : ", ") + place;
    }
    add_problem(findings, "provider", std::string(kFile) + " was not found; looked in " + looked,
                "Install FCI (./bootstrap build), or name the place with --provider.");
    return "";
}

void examine_provider(const std::string& path, const std::string& libfabric, Findings* findings) {
    examine_libfabric(libfabric, findings);
    void* const provider = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (provider == nullptr) {
        const std::string error = dlerror();
        add_problem(findings, "provider loads", error + "; libfabric hides this message",
                    advice_for(error));
        return;
    }
    if (dlsym(provider, "fi_prov_ini") == nullptr) {
        add_problem(findings, "provider loads", "it has no fi_prov_ini, so libfabric ignores it",
                    "This file is no libfabric provider: install FCI again.");
    } else {
        add_ok(findings, "provider loads", "all symbols are found, fi_prov_ini is there");
    }
    // Never unloaded, as libfabric would not unload it either.
}

void examine_filters(const std::string& path, const std::string& libfabric, Findings* findings) {
    examine_provider_filter(findings);
    const std::string set = environment("FI_PROVIDER_PATH");
    std::string default_directory;
    if (void* const library = dlopen(libfabric.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        Dl_info where{};
        if (dladdr(dlsym(library, "fi_version"), &where) != 0) {
            default_directory = directory_of(real_path(where.dli_fname)) + "/libfabric";
        }
    }
    const std::string directory = directory_of(real_path(path));
    const std::string remedy = "export FI_PROVIDER_PATH=" + directory + ", or let fci-env do it.";
    if (std::getenv("FI_PROVIDER_PATH") == nullptr) {
        if (directory == default_directory) {
            add_ok(findings, "FI_PROVIDER_PATH",
                   "not set; the provider lies in libfabric's own place");
        } else {
            add_setting_problem(findings, "FI_PROVIDER_PATH",
                                "not set, so libfabric does not look where the provider lies",
                                remedy);
        }
        return;
    }
    const std::vector<std::string> entries = provider_path();
    const bool leads = std::any_of(entries.begin(), entries.end(), [&](const std::string& entry) {
        const std::string file = file_at(entry);
        return !file.empty() && real_path(file) == real_path(path);
    });
    if (!leads) {
        add_setting_problem(findings, "FI_PROVIDER_PATH",
                            "'" + set + "' does not lead to the provider", remedy);
        return;
    }
    std::string text = "'" + set + "' leads to the provider";
    const auto others = other_providers(default_directory);
    const bool kept = std::find(entries.begin(), entries.end(), default_directory) != entries.end();
    if (!others.empty() && !kept) {
        text += "; it also hides " + std::to_string(others.size()) + " providers in " +
                default_directory + " (append that directory to keep them)";
    }
    add_ok(findings, "FI_PROVIDER_PATH", text);
}

}  // namespace fci::tools::info
