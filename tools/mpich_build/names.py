# SPDX-License-Identifier: BSD-3-Clause
"""What is put beside an installed MPICH: Debian's names, our wrappers, a first program."""

from mpich_build.screen import Failure

MPIRUN = """\
#!/bin/sh
# mpirun.{short}: runs programs made for MPICH, Debian's too, with the MPICH beside it ({device}).
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH=$(dirname "$here")/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
export LD_LIBRARY_PATH
exec "$here/mpiexec.hydra" "$@"
"""

HELLO = """\
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Get_library_version(version, &length);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s%d ranks, sum of their numbers %d\\n", version, size, sum);
    MPI_Finalize();
    return sum != size * (size - 1) / 2;
}
"""


def link(path, target):
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def library_names(prefix):
    """MPICH's own name of the library beside Debian's: a program may want either."""
    lib = prefix / "lib"
    for own, debian in (("libmpi", "libmpich"), ("libmpifort", "libmpichfort"),
                        ("libmpicxx", "libmpichcxx")):
        for suffix in (".so", ".so.12"):
            if (lib / (debian + suffix)).exists():
                link(lib / (own + suffix), debian + suffix)
    if not (lib / "libmpich.so.12").exists():
        raise Failure(f"{lib}/libmpich.so.12 was not made.\n"
                      "  cause    this MPICH has another binary interface than Debian's 4.0.2\n"
                      "  remedy   programs that were linked with that one must be linked again")


def wrappers(prefix, short, device):
    binary = prefix / "bin"
    for name in ("mpicc", "mpicxx", "mpifort", "mpichversion"):
        if (binary / name).exists():
            link(binary / f"{name}.{short}", name)
    script = binary / f"mpirun.{short}"
    script.write_text(MPIRUN.format(short=short, device=device))
    script.chmod(0o755)
    link(binary / f"mpiexec.{short}", script.name)


def are_there(prefix, short):
    return (prefix / "lib/libmpich.so.12").exists() and (prefix / f"bin/mpirun.{short}").exists()


def try_command(prefix, short, directory):
    """A shell line that compiles and runs a first program."""
    source, program = directory / "hello.c", directory / "hello"
    source.write_text(HELLO)
    return (f"{prefix}/bin/mpicc.{short} -o {program} {source} && "
            f"timeout 60 {prefix}/bin/mpirun.{short} -np 2 {program}")
