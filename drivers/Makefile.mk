# SPDX-License-Identifier: BSD-3-Clause
# drivers: networks under the interface. Each is a library of its own, as tests link them singly.
noinst_LTLIBRARIES += libfci_sim.la
libfci_sim_la_SOURCES = \
	drivers/sim/ideal/scheduler.h \
	drivers/sim/ideal/station_data.cc \
	drivers/sim/ideal/station_hints.cc \
	drivers/sim/ideal/station.cc \
	drivers/sim/ideal/station_data.h \
	drivers/sim/ideal/station_hints.h \
	drivers/sim/ideal/station.h \
	drivers/sim/ideal/world.cc \
	drivers/sim/ideal/world.h \
	drivers/sim/stream/link.h \
	drivers/sim/stream/stream_host.cc \
	drivers/sim/stream/stream_host.h \
	drivers/sim/stream/stream_world.cc \
	drivers/sim/stream/stream_world.h

# What drivers need of the operating system.
noinst_LTLIBRARIES += libfci_host.la
libfci_host_la_SOURCES = \
	drivers/host/aead.cc \
	drivers/host/aead.h \
	drivers/host/libcrypto.cc \
	drivers/host/libcrypto.h \
	drivers/host/descriptor.h \
	drivers/host/draw.h \
	drivers/host/epoll.cc \
	drivers/host/epoll.h \
	drivers/host/mark.h \
	drivers/host/interface.h \
	drivers/host/interfaces.cc \
	drivers/host/interfaces.h \
	drivers/host/nature.cc \
	drivers/host/nature.h \
	drivers/host/network_choice.cc \
	drivers/host/network_choice.h \
	drivers/host/network_pattern.cc \
	drivers/host/network_pattern.h \
	drivers/host/networks.cc \
	drivers/host/networks.h \
	drivers/host/place.h

noinst_LTLIBRARIES += libfci_shm.la
libfci_shm_la_SOURCES = \
	drivers/shm/clock.cc \
	drivers/shm/clock.h \
	drivers/shm/connection_manager.cc \
	drivers/shm/connection_manager.h \
	drivers/shm/coming_in.cc \
	drivers/shm/credentials.cc \
	drivers/shm/credentials.h \
	drivers/shm/going_out.cc \
	drivers/shm/handshake.cc \
	drivers/shm/handshake.h \
	drivers/shm/meeting_rules.h \
	drivers/shm/guard.cc \
	drivers/shm/guard.h \
	drivers/shm/shared_header.h \
	drivers/shm/shortage.h \
	drivers/shm/kernel_copy.cc \
	drivers/shm/connect.cc \
	drivers/shm/peer.h \
	drivers/shm/region.cc \
	drivers/shm/region.h \
	drivers/shm/shm.cc \
	drivers/shm/shm.h \
	drivers/shm/shm_device.cc \
	drivers/shm/shm_device.h \
	drivers/shm/shm_interface.cc \
	drivers/shm/shm_interface.h \
	drivers/shm/system_barrier.cc \
	drivers/shm/system_barrier.h \
	drivers/shm/socket.cc \
	drivers/shm/socket.h \
	drivers/shm/store.h

noinst_LTLIBRARIES += libfci_multicast.la
libfci_multicast_la_SOURCES = \
	drivers/multicast/datagram.cc \
	drivers/multicast/datagram.h \
	drivers/multicast/multicast.cc \
	drivers/multicast/multicast.h \
	drivers/multicast/place.h \
	drivers/multicast/seal.cc \
	drivers/multicast/seal.h \
	drivers/multicast/sockets.cc \
	drivers/multicast/sockets.h

noinst_LTLIBRARIES += libfci_tcp.la
libfci_tcp_la_SOURCES = \
	drivers/tcp/connection.cc \
	drivers/tcp/connection.h \
	drivers/tcp/connections.cc \
	drivers/tcp/connections.h \
	drivers/tcp/door.cc \
	drivers/tcp/door.h \
	drivers/tcp/failure.cc \
	drivers/tcp/failure.h \
	drivers/tcp/frame.h \
	drivers/tcp/frame_decoder.cc \
	drivers/tcp/frame_decoder.h \
	drivers/tcp/guesses.h \
	drivers/tcp/hello.cc \
	drivers/tcp/hello.h \
	drivers/tcp/kernel.cc \
	drivers/tcp/kernel.h \
	drivers/tcp/last_request.cc \
	drivers/tcp/last_request.h \
	drivers/tcp/meeting.cc \
	drivers/tcp/meeting.h \
	drivers/tcp/own.h \
	drivers/tcp/pages.h \
	drivers/tcp/peers.h \
	drivers/tcp/pulse.h \
	drivers/tcp/streams.h \
	drivers/tcp/tcp.cc \
	drivers/tcp/tcp.h \
	drivers/tcp/tcp_data.cc \
	drivers/tcp/tcp_data.h \
	drivers/tcp/tcp_device.cc \
	drivers/tcp/tcp_device.h \
	drivers/tcp/tcp_network.cc \
	drivers/tcp/tcp_network.h \
	drivers/tcp/turn.cc \
	drivers/tcp/turn.h \
	drivers/tcp/watch.cc \
	drivers/tcp/watch.h

noinst_LTLIBRARIES += libfci_node.la
libfci_node_la_SOURCES = \
	drivers/node/node.cc \
	drivers/node/node.h \
	drivers/node/node_data.cc \
	drivers/node/node_device.cc \
	drivers/node/node_data.h \
	drivers/node/node_device.h \
	drivers/node/node_network.cc \
	drivers/node/node_network.h \
	drivers/node/pace.h \
	drivers/node/peers.h

noinst_LTLIBRARIES += libfci_ucx.la
if HAVE_UCX
libfci_ucx_la_SOURCES = \
	drivers/ucx/frame.h \
	drivers/ucx/hello.h \
	drivers/ucx/incoming.cc \
	drivers/ucx/incoming.h \
	drivers/ucx/leaving.cc \
	drivers/ucx/leaving.h \
	drivers/ucx/library.cc \
	drivers/ucx/library.h \
	drivers/ucx/meeting.cc \
	drivers/ucx/meeting.h \
	drivers/ucx/peers.h \
	drivers/ucx/ports.cc \
	drivers/ucx/ports.h \
	drivers/ucx/rendezvous.cc \
	drivers/ucx/rendezvous.h \
	drivers/ucx/road.cc \
	drivers/ucx/road.h \
	drivers/ucx/turn.cc \
	drivers/ucx/turn.h \
	drivers/ucx/ucx.cc \
	drivers/ucx/ucx.h \
	drivers/ucx/ucx_data.cc \
	drivers/ucx/ucx_data.h \
	drivers/ucx/ucx_device.cc \
	drivers/ucx/ucx_device.h \
	drivers/ucx/ucx_network.cc \
	drivers/ucx/ucx_network.h \
	drivers/ucx/way.h
else
libfci_ucx_la_SOURCES = \
	drivers/ucx/ports.cc \
	drivers/ucx/ports.h \
	drivers/ucx/ucx.h \
	drivers/ucx/without.cc
endif

# Around another one, for tests.
noinst_LTLIBRARIES += libfci_tap.la
libfci_tap_la_SOURCES = \
	drivers/tap/fault/fault_device.cc \
	drivers/tap/fault/fault_device.h \
	drivers/tap/fault/fault_interface.cc \
	drivers/tap/fault/fault_interface.h \
	drivers/tap/fault/store_watch.h

# Those that a program can choose.
noinst_LTLIBRARIES += libfci_drivers.la
libfci_drivers_la_SOURCES = \
	drivers/registry.cc
