# SPDX-License-Identifier: BSD-3-Clause
# options.awk: the lines of parameters.def as the option section of a man page.
function quoted(n) {  # the n-th string of the line
    rest = $0
    for (i = 1; i <= n; ++i) {
        if (match(rest, /"[^"]*"/) == 0) return ""
        found = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
    }
    gsub(/\\/, "\\\\", found)
    gsub(/-/, "\\-", found)
    return found
}
/^FCI_PARAMETER\(/ {
    split($0, part, ",")
    type = part[2]
    gsub(/ /, "", type)
    fallback = quoted(1)
    allowed = type
    if (type == "choice") {
        allowed = fallback
        gsub(/\|/, ", ", allowed)
        sub(/\|.*/, "", fallback)
    }
    print ".TP"
    print ".B " quoted(2)
    print quoted(3) "."
    print "Value: " allowed "; default: " (fallback == "" ? "none" : fallback) "."
}
