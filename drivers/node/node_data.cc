// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/node/node_data.h"

#include "fci_core/base/assert.h"

namespace fci::node {

const Peers::Entry* NodeData::find_far(nhi::PeerId id) const noexcept {
    const Peers::Entry* const entry = peers_.find(id);
    return entry != nullptr && entry->side == kFar ? entry : nullptr;
}

Status NodeData::send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                      std::uint32_t events) noexcept {
    const Peers::Entry* const entry = find_far(id);
    if (entry == nullptr) return Status::unsupported;
    pace_.wrote();
    return far_->send(entry->id, data, from, events);
}

bool NodeData::has_taken(nhi::PeerId id) const noexcept {
    const Peers::Entry* const entry = find_far(id);
    return entry != nullptr && far_->has_taken(entry->id);
}

void NodeData::give_back(nhi::PeerId id) noexcept {
    if (const Peers::Entry* const entry = find_far(id)) far_->give_back(entry->id);
}

void NodeData::set_target(nhi::DataTarget* target) noexcept {
    FCI_ASSERT(is_there());
    target_ = target;
    far_->set_target(target != nullptr ? this : nullptr);
}

bool NodeData::expects(nhi::PeerId from) const noexcept {
    const nhi::PeerId known = peers_.find(kFar, from);
    return known != nhi::kNoPeer && target_->expects(known);
}

bool NodeData::is_early(nhi::PeerId from, const nhi::Data& data) const noexcept {
    const nhi::PeerId known = peers_.find(kFar, from);
    return known == nhi::kNoPeer || target_->is_early(known, data);  // the peer is not known yet
}

std::byte* NodeData::locate(nhi::PeerId from, const nhi::Data& data) noexcept {
    const nhi::PeerId known = peers_.find(kFar, from);
    return known != nhi::kNoPeer ? target_->locate(known, data) : nullptr;
}

bool NodeData::arrived(nhi::PeerId from, const nhi::Data& data) noexcept {
    const nhi::PeerId known = peers_.find(kFar, from);
    return known != nhi::kNoPeer && target_->arrived(known, data);
}

}  // namespace fci::node
