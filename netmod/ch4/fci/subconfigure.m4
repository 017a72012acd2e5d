[#] start of __file__
dnl MPICH_SUBCFG_AFTER=src/mpid/ch4

AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[
    AM_COND_IF([BUILD_CH4],[
        for net in $ch4_netmods ; do
            AS_CASE([$net],[fci],[build_ch4_netmod_fci=yes])
            if test $net = "fci" ; then
                AC_DEFINE(HAVE_CH4_NETMOD_FCI,1,[FCI netmod is built])
                if test "$build_ch4_locality_info" != "yes" ; then
                    AC_DEFINE(MPIDI_BUILD_CH4_LOCALITY_INFO,1,[CH4 should build locality info])
                    build_ch4_locality_info="yes"
                fi
                # From 5.0 on MPICH gives every process a node of its own when there is no shmmod.
                # Ours need none to reach each other, and programs want the real nodes.
                AS_CASE(["$ac_configure_args"],
                    [*--enable-nolocal*], [],
                    [enable_nolocal=no])
            fi
        done
    ])
    AM_CONDITIONAL([BUILD_CH4_NETMOD_FCI],[test "X$build_ch4_netmod_fci" = "Xyes"])
])dnl

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AM_COND_IF([BUILD_CH4_NETMOD_FCI],[
    AC_MSG_NOTICE([RUNNING CONFIGURE FOR ch4:fci])
    PAC_PROBE_HEADER_LIB(fci,[fci/icl.h],[fci],[fci_icl_open])
    if test "$pac_have_fci" != "yes" ; then
        AC_MSG_ERROR([fci/icl.h and libfci were not found. Build and install FCI first, then say where it is: --with-fci=DIR])
    fi
    PAC_LIBS_ADD([-lfci])
])dnl end AM_COND_IF(BUILD_CH4_NETMOD_FCI,...)
])dnl end _BODY

[#] end of __file__
