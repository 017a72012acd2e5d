// The tables of the calls that move messages.
#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/fork.h"

namespace fci::libfabric {

fi_ops_msg Endpoint::message_operations{
    sizeof(fi_ops_msg),   Receives::plain,      Receives::plain_vector, Receives::plain_message,
    Sends::plain,         Sends::plain_vector,  Sends::plain_message,   Sends::plain_inject,
    Sends::plain_data,    Sends::plain_inject_data,
};

fi_ops_msg Endpoint::fork_child_message{
    sizeof(fi_ops_msg), post_in_child, post_in_child, post_in_child, post_in_child,
    post_in_child,      post_in_child, post_in_child, post_in_child, post_in_child,
};

fi_ops_tagged Endpoint::fork_child_tagged{
    sizeof(fi_ops_tagged), post_in_child, post_in_child, post_in_child, post_in_child,
    post_in_child,         post_in_child, post_in_child, post_in_child, post_in_child,
};

fi_ops_tagged Endpoint::tagged_operations{
    sizeof(fi_ops_tagged), Receives::tagged,     Receives::tagged_vector, Receives::tagged_message,
    Sends::tagged,         Sends::tagged_vector, Sends::tagged_message,   Sends::tagged_inject,
    Sends::tagged_data,    Sends::tagged_inject_data,
};

}  // namespace fci::libfabric
