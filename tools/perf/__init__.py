# SPDX-License-Identifier: BSD-3-Clause
"""The parts of fci_perf. This file makes them a package that is found before the module of the same
name that Linux's perf brings."""
