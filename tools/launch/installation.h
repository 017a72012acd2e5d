// SPDX-License-Identifier: BSD-3-Clause
// Installation: where FCI's own files lie. A tree that was moved or copied keeps its shape, so what
// lies beside the tool comes first; what the build was told counts only where the tool still lies
// in the place that it was built for.
#pragma once

#include <string>
#include <vector>

namespace fci::tools {

class Installation {
public:
    static Installation find();

    /// The directory of libfci-fi.so and of the components, also where they are missing.
    [[nodiscard]] const std::string& plugs() const { return plugs_; }
    [[nodiscard]] std::string provider_file() const { return plugs_ + "/libfci-fi.so"; }
    [[nodiscard]] bool has_provider() const;
    /// Directory of the component for a release of Open MPI, or nothing.
    [[nodiscard]] std::string component_for(const std::string& release) const;
    /// The component lies where its Open MPI looks by itself (configure --with-component-dir).
    [[nodiscard]] static bool is_own_place(const std::string& component);
    /// A stand-in that makes programs of Debian's libmpich.so.12 run on a libmpi.so.12, or nothing.
    [[nodiscard]] std::string mpich_names() const;
    /// MPICH with FCI as its device, which fci-mpich-build has made; or nothing.
    [[nodiscard]] std::string own_mpich() const;
    /// A file below share/fci.
    [[nodiscard]] std::string shared(const std::string& name) const;
    /// Where its programs lie.
    [[nodiscard]] const std::string& programs() const { return bin_; }

    /// "fci-run 0.2.0 (a1b2c3)" and a line's end.
    [[nodiscard]] std::string version_text(const char* tool) const;

private:
    std::string bin_, plugs_;
};

}  // namespace fci::tools
