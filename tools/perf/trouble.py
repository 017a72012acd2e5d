# SPDX-License-Identifier: BSD-3-Clause
"""What went wrong, in the three parts that a user needs."""


class Trouble(Exception):
    """what, cause, remedy; code: 1 something failed, 2 it could not be started."""

    def __init__(self, what, cause, remedy, code=2):
        super().__init__(what, cause, remedy)
        self.what, self.cause, self.remedy, self.code = what, cause, remedy, code

    def __str__(self):
        return f"{self.what}\n  cause    {self.cause}\n  remedy   {self.remedy}"
