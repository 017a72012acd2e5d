# SPDX-License-Identifier: BSD-3-Clause
# Tests: one googletest program for each room, linked to that room and those below it only, so that
# a call upwards does not link.
AM_CPPFLAGS += $(GTEST_CFLAGS)

LOG_COMPILER = $(SHELL_PATH) $(srcdir)/test/harness/run
SHELL_PATH = bash
AM_TESTS_ENVIRONMENT = \
	srcdir='$(srcdir)'; export srcdir; \
	FCI_TEST_RESULTS='test/results'; export FCI_TEST_RESULTS; \
	CXX='$(CXX)'; export CXX; CC='$(CC)'; export CC; \
	CPPFLAGS='$(CPPFLAGS) $(LIBFABRIC_CFLAGS)'; export CPPFLAGS; \
	FCI_TEST_PROVIDER_DIR='$(abs_builddir)/.libs'; export FCI_TEST_PROVIDER_DIR; \
	SANITIZE='$(fci_sanitize)'; export SANITIZE; \
	OPENMPI_RELEASE='$(OPENMPI_RELEASE)'; export OPENMPI_RELEASE; \
	$(provider_environment)

dist_noinst_SCRIPTS += test/harness/run
dist_noinst_DATA += .ci/metrics-exceptions.txt .ci/tidy-exceptions.txt .ci/words-exceptions.txt
dist_noinst_DATA += test/unit/real_time.txt

dist_check_SCRIPTS += \
	test/harness/architecture \
	test/harness/layers \
	test/harness/limits \
	test/harness/real_time \
	test/harness/headers \
	test/harness/subjects \
	test/harness/symbols \
	test/harness/tidy \
	test/harness/words \
	test/models/run \
	test/mpich/apply \
	test/mpich/mpich-headers \
	test/mutants/rows \
	test/simulation/rules \
	test/tools/demo \
	test/tools/fci_info \
	test/tools/fci_info-job \
	test/tools/fci-lab \
	test/tools/fci-run \
	test/tools/fci-mpich-build \
	test/tools/fci-ucx-report \
	test/tools/lengths \
	test/tools/metrics \
	test/tools/mutants \
	test/tools/network \
	test/tools/pages \
	test/tools/perf-compare \
	test/tools/perf-fit \
	test/tools/perf-front \
	test/tools/perf-hosts \
	test/tools/perf-models \
	test/tools/perf-ready \
	test/tools/perf-verdict \
	test/tools/pipeline \
	test/tools/pypi \
	test/tools/rdma \
	test/tools/remember \
	test/tools/segments \
	test/tools/subject_lines \
	test/tools/touches \
	test/tools/wording
TESTS += $(dist_check_SCRIPTS)
EXTRA_DIST += \
	test/harness/circles.py \
	test/harness/classes.py \
	test/harness/cxx.py \
	test/harness/gate.py \
	test/harness/memory.py \
	test/harness/metrics \
	test/harness/skips \
	test/harness/skips.txt \
	test/harness/tarball \
	test/tools/wheel \
	test/harness/touches \
	test/harness/tree.py \
	test/harness/yielding.c \
	test/models/bulk.pml \
	test/models/chain.pml \
	test/models/offers.pml \
	test/models/sleep.pml \
	test/models/tables.pml \
	test/tools/everyone.c \
	test/tools/hosts.c \
	test/tools/journeys \
	test/tools/perf_lab.py \
	test/unit/ch4/am_in_test.c \
	test/unit/ch4/am_test.c \
	test/unit/ch4/coll_data_test.c \
	test/unit/ch4/coll_test.c \
	test/unit/ch4/counters_test.c \
	test/unit/ch4/datatypes.c \
	test/unit/ch4/device.c \
	test/unit/ch4/epoch_test.c \
	test/unit/ch4/error_test.c \
	test/unit/ch4/flush_test.c \
	test/unit/ch4/forced.c \
	test/unit/ch4/forced.h \
	test/unit/ch4/group_test.c \
	test/unit/ch4/hooks_test.c \
	test/unit/ch4/init_test.c \
	test/unit/ch4/job.c \
	test/unit/ch4/job.h \
	test/unit/ch4/main.cc \
	test/unit/ch4/match_test.c \
	test/unit/ch4/probe_test.c \
	test/unit/ch4/process_4_test.c \
	test/unit/ch4/recv_fails_test.c \
	test/unit/ch4/recv_test.c \
	test/unit/ch4/rma_test.c \
	test/unit/ch4/send_test.c \
	test/unit/ch4/spawn_test.c \
	test/unit/ch4/tap.c \
	test/unit/ch4/tap.h \
	test/unit/ch4/test.h \
	test/unit/ch4/upper.c \
	test/unit/ch4/upper.h \
	test/unit/ch4/win_test.c \
	test/unit/ch4/window.c \
	test/unit/ch4/window.h \
	test/unit/ch4/world_4_test.c

if HAVE_LIBFABRIC
provider_environment =
else
provider_environment = PROVIDER=''; export PROVIDER; HAVE_LIBFABRIC=no; export HAVE_LIBFABRIC;
endif

if HAVE_GTEST
unit_tests =
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

unit_tests += test_base
test_base_SOURCES = \
	test/unit/limit.h \
	test/unit/seed.h \
	test/unit/base/clock_test.cc \
	test/unit/base/error_text_test.cc \
	test/unit/base/fork_watch_test.cc \
	test/unit/base/flag_test.cc \
	test/unit/base/handle_pool_test.cc \
	test/unit/base/intrusive_list_test.cc \
	test/unit/base/launcher_test.cc \
	test/unit/base/log_test.cc \
	test/unit/base/parameters_test.cc \
	test/unit/base/parse_test.cc \
	test/unit/base/peer_rows_test.cc \
	test/unit/base/prng_test.cc \
	test/unit/base/report_page_test.cc
test_base_LDADD = libfci_base.la $(GTEST_LIBS)

unit_tests += test_nhi
test_nhi_SOURCES = \
	test/unit/nhi/forwarding_test.cc \
	test/unit/nhi/no_network.h
test_nhi_LDADD = libfci_base.la $(GTEST_LIBS)

unit_tests += test_ddi
test_ddi_SOURCES = \
	test/unit/ddi/forwarding_test.cc \
	test/unit/ddi/notices_test.cc \
	test/unit/ddi/peer_table_test.cc
test_ddi_LDADD = libfci_base.la $(GTEST_LIBS)

unit_tests += test_drivers
test_drivers_SOURCES = \
	test/unit/drivers/datagram_test.cc \
	test/unit/drivers/sim_hints_test.cc \
	test/unit/drivers/tcp_frame_test.cc \
	test/unit/drivers/shm_close_test.cc \
	test/unit/drivers/shm_coming_in_test.cc \
	test/unit/drivers/shm_going_out_test.cc \
	test/unit/drivers/shm_handshake_test.cc \
	test/unit/drivers/calls.cc \
	test/unit/drivers/calls.h \
	test/unit/drivers/frames.h \
	test/unit/drivers/hand_party.h \
	test/unit/drivers/hand_streams.h \
	test/unit/drivers/alarm_clock.h \
	test/unit/drivers/hand_clock.h \
	test/unit/drivers/invented_interfaces.h \
	test/unit/drivers/aead_test.cc \
	test/unit/drivers/datagrams.h \
	test/unit/drivers/multicast_hand.h \
	test/unit/drivers/multicast_lanes_test.cc \
	test/unit/drivers/multicast_sockets_test.cc \
	test/unit/drivers/multicast_test.cc \
	test/unit/drivers/network_choice_test.cc \
	test/unit/drivers/network_pattern_test.cc \
	test/unit/drivers/no_streams.h \
	test/unit/drivers/node_test.cc \
	test/unit/drivers/shm_barrier_test.cc \
	test/unit/drivers/shm_credentials_test.cc \
	test/unit/drivers/shm_death_test.cc \
	test/unit/drivers/shm_door_test.cc \
	test/unit/drivers/shm_failure_test.cc \
	test/unit/drivers/shm_farewell_test.cc \
	test/unit/drivers/shm_meeting_rules_test.cc \
	test/unit/drivers/shm_hostile_test.cc \
	test/unit/drivers/shm_interface_test.cc \
	test/unit/drivers/shm_odd_host.h \
	test/unit/drivers/shm_self_test.cc \
	test/unit/drivers/shm_shortage_test.cc \
	test/unit/drivers/shm_party.h \
	test/unit/drivers/shm_places_test.cc \
	test/unit/drivers/shm_process_test.cc \
	test/unit/drivers/shm_refused_test.cc \
	test/unit/drivers/shm_region_test.cc \
	test/unit/drivers/shm_sleep_test.cc \
	test/unit/drivers/shm_socket_test.cc \
	test/unit/drivers/shm_store_test.cc \
	test/unit/drivers/shm_turn_test.cc \
	test/unit/drivers/shm_wake_test.cc \
	test/unit/drivers/shm_window_test.cc \
	test/unit/drivers/sim_ideal_test.cc \
	test/unit/drivers/sim_stream_test.cc \
	test/unit/drivers/tap_fault_shm_test.cc \
	test/unit/drivers/tap_fault_test.cc \
	test/unit/drivers/tcp_device_test.cc \
	test/unit/drivers/tcp_burst_test.cc \
	test/unit/drivers/tcp_connection_test.cc \
	test/unit/drivers/tcp_connection_data_test.cc \
	test/unit/drivers/tcp_connection_in_test.cc \
	test/unit/drivers/tcp_connection_out.h \
	test/unit/drivers/tcp_connection_out_test.cc \
	test/unit/drivers/tcp_connections.h \
	test/unit/drivers/tcp_connections_test.cc \
	test/unit/drivers/tcp_data_test.cc \
	test/unit/drivers/tcp_door_test.cc \
	test/unit/drivers/tcp_door_limits_test.cc \
	test/unit/drivers/tcp_failure_test.cc \
	test/unit/drivers/tcp_farewell_test.cc \
	test/unit/drivers/tcp_frame_data_test.cc \
	test/unit/drivers/tcp_frame_room_test.cc \
	test/unit/drivers/tcp_guesses_test.cc \
	test/unit/drivers/tcp_hello_test.cc \
	test/unit/drivers/tcp_kernel_test.cc \
	test/unit/drivers/tcp_meeting_test.cc \
	test/unit/drivers/tcp_meeting_answer_test.cc \
	test/unit/drivers/tcp_meeting_call_test.cc \
	test/unit/drivers/tcp_meeting_close_test.cc \
	test/unit/drivers/tcp_meeting_judge_test.cc \
	test/unit/drivers/tcp_network_test.cc \
	test/unit/drivers/tcp_request_test.cc \
	test/unit/drivers/tcp_streams_test.cc \
	test/unit/drivers/tcp_tail_test.cc \
	test/unit/drivers/tcp_turn_test.cc \
	test/unit/drivers/tcp_turn_hints_test.cc \
	test/unit/drivers/tcp_watch_test.cc \
	test/unit/drivers/tcp_party.h \
	test/unit/drivers/tcp_pulse_test.cc \
	test/unit/drivers/ucx_library_test.cc \
	test/unit/steps.h
if HAVE_UCX
test_drivers_SOURCES += \
	test/unit/drivers/ucx_beside_test.cc \
	test/unit/drivers/ucx_data_close_test.cc \
	test/unit/drivers/ucx_data_end_test.cc \
	test/unit/drivers/ucx_data_target.h \
	test/unit/drivers/ucx_data_test.cc \
	test/unit/drivers/ucx_device_test.cc \
	test/unit/drivers/ucx_frame_test.cc \
	test/unit/drivers/ucx_hand_tcp.h \
	test/unit/drivers/ucx_in_memory.cc \
	test/unit/drivers/ucx_in_memory.h \
	test/unit/drivers/ucx_in_memory_data.cc \
	test/unit/drivers/ucx_leaving_test.cc \
	test/unit/drivers/ucx_library_load_test.cc \
	test/unit/drivers/ucx_meeting_test.cc \
	test/unit/drivers/ucx_meetings.h \
	test/unit/drivers/ucx_network_test.cc \
	test/unit/drivers/ucx_peers.h \
	test/unit/drivers/ucx_ports_test.cc \
	test/unit/drivers/ucx_rendezvous_test.cc \
	test/unit/drivers/ucx_road_flush_test.cc \
	test/unit/drivers/ucx_road_test.cc \
	test/unit/drivers/ucx_roads.h \
	test/unit/drivers/ucx_sleep_test.cc \
	test/unit/drivers/ucx_stations.h \
	test/unit/drivers/ucx_turn_test.cc \
	test/unit/drivers/ucx_verdict_test.cc
endif
test_drivers_LDADD = libfci_tap.la libfci_sim.la libfci_node.la libfci_ucx.la libfci_shm.la \
	libfci_tcp.la \
	libfci_multicast.la libfci_host.la libfci_base.la $(GTEST_LIBS)

unit_tests += test_progress
test_progress_SOURCES = \
	test/unit/progress/scheduler.h \
	test/unit/progress/asking_test.cc \
	test/unit/progress/blocking_test.cc \
	test/unit/progress/busy_polls_test.cc \
	test/unit/progress/core_share_test.cc \
	test/unit/progress/countdown_test.cc \
	test/unit/progress/hand_loop.h \
	test/unit/progress/hand_wait.h \
	test/unit/progress/idle_loop_test.cc \
	test/unit/progress/placement_test.cc \
	test/unit/progress/slice_test.cc \
	test/unit/progress/states_test.cc \
	test/unit/progress/surroundings_test.cc \
	test/unit/progress/wait_test.cc \
	test/unit/progress/watch_test.cc
test_progress_LDADD = libfci_progress.la libfci_base.la $(GTEST_LIBS)

# gcs and mp are tried over the simulated network, which is below them.
unit_tests += test_gcs
test_gcs_SOURCES = \
	test/unit/gcs/cell_lender_test.cc \
	test/unit/gcs/cells_test.cc \
	test/unit/gcs/line_stores_test.cc \
	test/unit/gcs/piece_pool_test.cc \
	test/unit/gcs/request_block_test.cc \
	test/unit/gcs/ring_test.cc \
	test/unit/gcs/wire.h \
	test/unit/nhi/no_network.h
test_gcs_LDADD = libfci_sim.la libfci_base.la $(GTEST_LIBS)

unit_tests += test_mp
test_mp_SOURCES = \
	test/unit/mp/differential_test.cc \
	test/unit/mp/match/matching_test.cc \
	test/unit/mp/shortage.cc \
	test/unit/mp/shortage_test.cc \
	test/unit/mp/accounts_test.cc \
	test/unit/mp/arrived_pool_test.cc \
	test/unit/mp/asks_test.cc \
	test/unit/mp/cells_test.cc \
	test/unit/mp/departure_test.cc \
	test/unit/mp/figures_test.cc \
	test/unit/mp/forger.h \
	test/unit/mp/hostile_test.cc \
	test/unit/mp/kept_test.cc \
	test/unit/mp/meetings_test.cc \
	test/unit/mp/message_passing_test.cc \
	test/unit/mp/offers_edges_test.cc \
	test/unit/mp/offers_test.cc \
	test/unit/mp/one_sided_test.cc \
	test/unit/mp/outbox_test.cc \
	test/unit/mp/pair.h \
	test/unit/mp/parts_test.cc \
	test/unit/mp/receives_test.cc \
	test/unit/mp/records_test.cc \
	test/unit/mp/rendezvous_test.cc \
	test/unit/mp/self_copies_test.cc \
	test/unit/mp/sends_test.cc \
	test/unit/mp/shortage.h \
	test/unit/mp/shortage_program.h \
	test/unit/mp/sizes_test.cc \
	test/unit/mp/starved_test.cc \
	test/unit/mp/steps_test.cc \
	test/unit/mp/fast_path_test.cc \
	test/unit/mp/match/key_index_test.cc \
	test/unit/mp/match/matching_young_test.cc \
	test/unit/mp/move/claims_test.cc \
	test/unit/mp/move/copy_path_test.cc \
	test/unit/mp/move/direct_test.cc \
	test/unit/mp/move/landing_test.cc \
	test/unit/mp/move/pool_test.cc \
	test/unit/mp/move/push_test.cc \
	test/unit/mp/move/refused_copies_test.cc \
	test/unit/mp/move/streams_test.cc \
	test/unit/mp/move/wide_copy_test.cc
test_mp_LDADD = libfci_mp.la libfci_progress.la libfci_sim.la libfci_base.la $(GTEST_LIBS)

unit_tests += test_group
test_group_SOURCES = \
	test/unit/group/gathering_test.cc \
	test/unit/group/group_test.cc \
	test/unit/group/groups_hostile_test.cc \
	test/unit/group/groups_test.cc \
	test/unit/group/levels_test.cc \
	test/unit/group/members.h \
	test/unit/group/outstanding_test.cc \
	test/unit/group/plan_test.cc \
	test/unit/group/plans.cc \
	test/unit/group/plans.h \
	test/unit/group/results.h \
	test/unit/group/run_neighbours_test.cc \
	test/unit/group/run_test.cc \
	test/unit/group/hints/bulk.h \
	test/unit/group/hints/bulk_member.h \
	test/unit/group/hints/bulk_member_lost_test.cc \
	test/unit/group/hints/bulk_member_test.cc \
	test/unit/group/hints/bulk_root.h \
	test/unit/group/hints/bulk_root_late_test.cc \
	test/unit/group/hints/bulk_root_test.cc \
	test/unit/group/hints/chain_test.cc \
	test/unit/group/hints/hint_slots_test.cc \
	test/unit/group/hints/hinting_test.cc \
	test/unit/group/hints/long_broadcast_test.cc \
	test/unit/group/hints/pieces_test.cc \
	test/unit/group/hosts/exchange_test.cc \
	test/unit/group/hosts/exchanges.h \
	test/unit/group/hosts/handover_test.cc \
	test/unit/group/hosts/messenger_test.cc \
	test/unit/group/hosts/notes_test.cc \
	test/unit/group/hosts/parts_test.cc \
	test/unit/group/hosts/share_test.cc \
	test/unit/group/hosts/steps_test.cc \
	test/unit/group/table/board_test.cc \
	test/unit/group/table/flag_table_test.cc \
	test/unit/group/table/offers_test.cc \
	test/unit/group/table/table_group_broadcast_test.cc \
	test/unit/group/table/table_group_deaths_test.cc \
	test/unit/group/table/table_group_test.cc \
	test/unit/group/table/table_group_throng_test.cc \
	test/unit/group/table/table_group_wait_test.cc \
	test/unit/mp/shortage.cc \
	test/unit/mp/shortage.h \
	test/unit/nhi/no_network.h
test_group_LDADD = libfci_group.la libfci_mp.la libfci_progress.la libfci_sim.la libfci_base.la \
	$(GTEST_LIBS)

# Every driver keeps the contract of the network interface.
unit_tests += test_conformance
test_conformance_SOURCES = \
	test/conformance/event_test.cc \
	test/conformance/hints_test.cc \
	test/conformance/mixed.h \
	test/conformance/link_test.cc \
	test/conformance/nhi.h \
	test/conformance/nhi_test.cc \
	test/conformance/ucx_here.h \
	test/conformance/ucx_test.cc \
	test/conformance/world.h \
	test/conformance/worlds.cc
# The driver that docs/drivers.md is made of, and nothing else.
nodist_test_conformance_SOURCES = test/conformance/loopback.h
BUILT_SOURCES += $(nodist_test_conformance_SOURCES)
CLEANFILES += $(nodist_test_conformance_SOURCES)
test/conformance/loopback.h: $(srcdir)/docs/drivers.md
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	{ echo '#pragma once'; awk '/^```cpp/ {code = 1; next} /^```/ {code = 0} code' \
	$(srcdir)/docs/drivers.md; } >$@.new && \
	test $$(grep -vc '^#pragma\|^ *$$' $@.new) -lt 200 && mv $@.new $@
test_conformance_LDADD = libfci_tap.la libfci_sim.la libfci_node.la libfci_ucx.la libfci_shm.la \
	libfci_tcp.la \
	libfci_multicast.la libfci_host.la libfci_base.la $(GTEST_LIBS)

unit_tests += test_api
test_api_SOURCES = \
	test/unit/api/asked.cc \
	test/unit/api/asked.h \
	test/unit/api/choose_driver_test.cc \
	test/unit/api/close_test.cc \
	test/unit/api/context.h \
	test/unit/api/duties_test.cc \
	test/unit/api/faults_test.cc \
	test/unit/api/group_form_test.cc \
	test/unit/api/group_job.h \
	test/unit/api/group_test.cc \
	test/unit/api/hinting_test.cc \
	test/unit/api/host_context.h \
	test/unit/api/levels_test.cc \
	test/unit/api/outstanding_test.cc \
	test/unit/api/network_test.cc \
	test/unit/api/limits_test.cc \
	test/unit/api/two_hosts_test.cc \
	test/unit/api/pool_test.cc \
	test/unit/api/post_test.cc \
	test/unit/api/take_test.cc \
	test/unit/api/process_test.cc \
	test/unit/api/report_test.cc \
	test/unit/steps.h
test_api_LDADD = libfci_tap.la libfci_sim.la $(libfci_rooms) $(GTEST_LIBS)

unit_tests += test_tools
test_tools_SOURCES = \
	tools/fci_info/job_page.cc \
	test/unit/tools/job_page_test.cc
test_tools_LDADD = $(GTEST_LIBS)

# The provider as libfabric loads it: no library of ours is linked.
if HAVE_LIBFABRIC
unit_tests += test_provider
test_provider_SOURCES = \
	test/provider/atomic_test.cc \
	test/provider/completion_test.cc \
	test/provider/forged_test.cc \
	test/provider/info_test.cc \
	test/provider/main.cc \
	test/provider/matching_test.cc \
	test/provider/message_test.cc \
	test/provider/objects_test.cc \
	test/provider/process_test.cc \
	test/provider/processes.h \
	test/provider/region_test.cc \
	test/provider/remote.h \
	test/provider/rma_test.cc \
	test/provider/support.cc \
	test/provider/support.h \
	test/provider/threads_test.cc
test_provider_CPPFLAGS = $(AM_CPPFLAGS) $(LIBFABRIC_CFLAGS)
test_provider_LDADD = $(LIBFABRIC_LIBS) $(GTEST_LIBS)
dist_check_SCRIPTS += test/provider/two-sided
endif

# The netmod for MPICH, where MPICH's headers are: the script compiles it against them. The target
# is for test/mutants.
dist_check_SCRIPTS += test/unit/ch4/test_ch4
test_ch4: libfci.la
	$(AM_V_GEN)FCI_TEST_PROVIDER_DIR='$(abs_builddir)/.libs' CC='$(CC)' CXX='$(CXX)' \
	    $(srcdir)/test/unit/ch4/test_ch4 --gtest_list_tests >/dev/null

# The component, compiled into a program that is a job of one rank by itself. Its headers are those of
# Open MPI 4.1. What it calls goes through the tests where they have turns, a clock or answers of their
# own.
if HAVE_OPENMPI
if HAVE_OPENMPI_4
unit_tests += test_openmpi
test_openmpi_SOURCES = \
	$(mca_pml_fci_la_SOURCES) \
	test/unit/openmpi/collectives_gather_test.cc \
	test/unit/openmpi/collectives_test.cc \
	test/unit/openmpi/component_test.cc \
	test/unit/openmpi/counters_test.cc \
	test/unit/openmpi/data_test.cc \
	test/unit/openmpi/ends.cc \
	test/unit/openmpi/ends.h \
	test/unit/openmpi/fork_test.cc \
	test/unit/openmpi/form_test.cc \
	test/unit/openmpi/looks_test.cc \
	test/unit/openmpi/members.h \
	test/unit/openmpi/near.c \
	test/unit/openmpi/near.h \
	test/unit/openmpi/nonblocking_test.cc \
	test/unit/openmpi/probe_test.cc \
	test/unit/openmpi/receive_test.cc \
	test/unit/openmpi/request_test.cc \
	test/unit/openmpi/send_buffered_test.cc \
	test/unit/openmpi/send_test.cc \
	test/unit/openmpi/threads_test.cc \
	test/unit/openmpi/unlike_test.cc \
	test/unit/openmpi/world_test.cc \
	test/unit/openmpi/wraps.cc
test_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CPPFLAGS) $(openmpi_defines)
test_openmpi_CFLAGS = $(mca_pml_fci_la_CFLAGS)
test_openmpi_core = add_peer cancel discard group_call group_form group_leave group_start meet post \
	probe progress receive receive_claimed send send_bytes send_short set_idle
test_openmpi_rest = MPI_Wtime ompi_mpi_abort opal_output sleep usleep
test_openmpi_LDFLAGS = $(test_openmpi_core:%=-Wl,--wrap=fci_icl_%) \
	$(test_openmpi_rest:%=-Wl,--wrap=%)
test_openmpi_LDADD = $(libfci_rooms) $(OPENMPI_LIBS) $(GTEST_LIBS)
endif
endif

# Compiled often and run once, the tests' own objects are not optimized, and what they include of
# googletest and of the standard library is compiled once before them. Where the compiler does not
# take that, it finds the header itself. Those that run for seconds are compiled as the product is,
# and stand first in their programs: of an inline function the linker takes the first copy.
slow_tests = drivers/datagram_test drivers/sim_hints_test drivers/tcp_frame_test \
	mp/differential_test mp/match/matching_test mp/shortage mp/shortage_test
c_tests = openmpi/openmpi-near
unit_objects = $(filter-out $(patsubst %,test/unit/%.$(OBJEXT),$(slow_tests) $(c_tests)), \
	$(filter test/%,$(foreach test,$(unit_tests),$($(test)_OBJECTS))))
$(unit_objects): test/common.h.gch
$(unit_objects): private AM_CPPFLAGS += -include test/common.h
$(unit_objects) test/common.h.gch: private CXXFLAGS += -O0
test/common.h.gch: test/common.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(CXXCOMPILE) -w -MT $@ -MD -MP -MF test/common.d \
	    -x c++-header -c -o $@ $(srcdir)/test/common.h
-include test/common.d
CLEANFILES += test/common.h.gch test/common.d
noinst_HEADERS += test/common.h
# ccache keeps what is compiled after such a header only when it is told to.
CCACHE_SLOPPINESS ?= pch_defines,time_macros
export CCACHE_SLOPPINESS
endif

# Random programs over the simulated network, each from one seed.
check_PROGRAMS += simulation
TESTS += simulation
simulation_SOURCES = \
	test/conformance/mixed.h \
	test/simulation/bell.h \
	test/simulation/calls.cc \
	test/simulation/choices.cc \
	test/simulation/guarded.h \
	test/simulation/knocker.cc \
	test/simulation/knocker.h \
	test/simulation/main.cc \
	test/simulation/networks.cc \
	test/simulation/one_run.h \
	test/simulation/places.h \
	test/simulation/reference.h \
	test/simulation/second_run.h \
	test/simulation/simulation.cc \
	test/simulation/simulation.h \
	test/simulation/simulation_run.cc
simulation_LDADD = libfci_mp.la libfci_tap.la libfci_sim.la libfci_node.la libfci_shm.la libfci_tcp.la \
	libfci_multicast.la libfci_host.la libfci_base.la
dist_noinst_DATA += test/simulation/seeds.txt

# Whole jobs of processes likewise, with what they ask of their host, in virtual time.
check_PROGRAMS += job_simulation
TESTS += job_simulation
virtual_job = \
	test/simulation/jobs/cores.cc \
	test/simulation/jobs/cores.h \
	test/simulation/jobs/fiber.cc \
	test/simulation/jobs/fiber.h \
	test/simulation/jobs/job.cc \
	test/simulation/jobs/job.h
job_simulation_SOURCES = \
	$(virtual_job) \
	test/simulation/jobs/collectives.cc \
	test/simulation/jobs/collectives.h \
	test/simulation/jobs/draw.h \
	test/simulation/jobs/job_run.cc \
	test/simulation/jobs/plan.cc \
	test/simulation/jobs/plan.h \
	test/simulation/jobs/plan_groups.cc \
	test/simulation/jobs/random_calls.cc \
	test/simulation/jobs/random_job.cc \
	test/simulation/jobs/random_job.h \
	test/simulation/main.cc \
	test/simulation/one_run.h \
	test/simulation/second_run.h
job_simulation_LDADD = libfci_tap.la libfci_sim.la $(libfci_rooms)
dist_noinst_DATA += test/simulation/jobs/seeds.txt

# Tests of libfabric over the provider, where its source package is (docs/fabtests.md).
EXTRA_DIST += test/fabtests

# What comes over the wire, by libFuzzer (docs/hacking.md).
dist_noinst_SCRIPTS += test/fuzz/run
EXTRA_DIST += \
	test/fuzz/corpus \
	test/fuzz/datagrams.cc \
	test/fuzz/door.cc \
	test/fuzz/frames.cc \
	test/fuzz/notes.cc \
	test/fuzz/ucx.cc

# FCI over RDMA verbs, in a guest (docs/ucx.md).
dist_noinst_SCRIPTS += test/rdma/run
EXTRA_DIST += \
	test/rdma/cpio.py \
	test/rdma/guest.py \
	test/rdma/init \
	test/rdma/inside \
	test/rdma/kernel.py \
	test/rdma/parts.py \
	test/rdma/trouble.py

# Mutants and rules show what the tests see (docs/hacking.md).
EXTRA_DIST += \
	test/mutants/equivalent.txt \
	test/mutants/lists.py \
	test/mutants/rooms.py \
	test/mutants/rules.py \
	test/mutants/run \
	test/mutants/source.py \
	test/mutants/switch.h \
	test/mutants/switches.py \
	test/mutants/tree.py \
	test/mutants/trials.py \
	test/mutants/written.txt \
	test/simulation/decided \
	test/simulation/decided.h \
	test/simulation/rules.txt

# The tests that run what is built, for the sanitizers: what the tree looks like is the same there, and
# the random programs have seeds of each commit (.ci/run) instead of those that are always the same.
sanitized_tests = $(unit_tests) test/tools/fci_info test/tools/fci_info-job test/tools/network
if HAVE_LIBFABRIC
sanitized_tests += test/provider/two-sided
endif
if HAVE_GTEST
sanitized_tests += test/unit/ch4/test_ch4
endif
sanitized-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) all $(check_PROGRAMS) $(check_LTLIBRARIES)
check-sanitized:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(sanitized_tests)'

# The tests that have several threads (test/harness/touches), for the thread sanitizer, and nothing
# that they do not need.
threaded_tests = test_base test_drivers test_conformance
check-threads: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(threaded_tests)' \
	    check_PROGRAMS='$(threaded_tests)' check_LTLIBRARIES= check_SCRIPTS= dist_check_SCRIPTS=

# The tarball has all files, and what is built from it is what is built here: so it is enough that a
# few tests build and run there, too; in a hurry.
tarball_tests = test_base test/harness/layers test/mpich/apply
check-tarball:
	$(MAKE) distcheck DISTCHECK_CONFIGURE_FLAGS='CFLAGS=-O0 CXXFLAGS=-O0' \
	    AM_MAKEFLAGS="TESTS='$(tarball_tests)' check_PROGRAMS='test_base'"
	$(srcdir)/test/harness/tarball $(srcdir) $(distdir).tar.xz

# The first half of that alone: all files are in it.
check-tarball-list:
	$(MAKE) $(AM_MAKEFLAGS) dist XZ_OPT=-0
	$(srcdir)/test/harness/tarball $(srcdir) $(distdir).tar.xz
.PHONY: sanitized-programs check-sanitized check-threads check-tarball check-tarball-list test_ch4

mostlyclean-local:
	rm -rf test/results test/models/models-* test_ch4 test_ch4.objects
