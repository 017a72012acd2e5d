# SPDX-License-Identifier: BSD-3-Clause
"""What is told to the user where the test cannot go on: what, why, what to do."""


class Trouble(Exception):
    def __init__(self, what, cause, remedy, code=1):
        super().__init__(f"{what}\n  cause    {cause}\n  remedy   {remedy}")
        self.code = code
