if BUILD_CH4_NETMOD_FCI

mpi_core_sources   += src/mpid/ch4/netmod/fci/func_table.c \
                      src/mpid/ch4/netmod/fci/fci_am.c \
                      src/mpid/ch4/netmod/fci/fci_coll.c \
                      src/mpid/ch4/netmod/fci/fci_counters.c \
                      src/mpid/ch4/netmod/fci/fci_error.c \
                      src/mpid/ch4/netmod/fci/fci_hooks.c \
                      src/mpid/ch4/netmod/fci/fci_init.c \
                      src/mpid/ch4/netmod/fci/fci_process_4.c \
                      src/mpid/ch4/netmod/fci/fci_process_5.c \
                      src/mpid/ch4/netmod/fci/fci_pt2pt.c \
                      src/mpid/ch4/netmod/fci/fci_rma.c \
                      src/mpid/ch4/netmod/fci/fci_spawn.c \
                      src/mpid/ch4/netmod/fci/fci_win.c \
                      src/mpid/ch4/netmod/fci/fci_world_4.c \
                      src/mpid/ch4/netmod/fci/fci_world_5.c

errnames_txt_files += src/mpid/ch4/netmod/fci/errnames.txt

endif
