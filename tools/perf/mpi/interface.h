/* SPDX-License-Identifier: BSD-3-Clause */
/* interface.h: which network interface of a host carried the bytes, and the rate that its hardware
 * claims (/sys/class/net, /sys/class/infiniband). Unknown stays unknown: 0. */
#ifndef FCI_PERF_INTERFACE_H
#define FCI_PERF_INTERFACE_H

#include <dirent.h>
#include <limits.h>

#include "job.h"

enum { INTERFACES_MOST = 64 };

struct interface {
    char name[24];
    double bytes; /* that came and went, since the host is up */
    double speed; /* bit/s */
};

static double number_in(const char *folder, const char *name, const char *file) {
    char path[PATH_MAX], text[64];
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    read_word(path, text, sizeof text);
    return text[0] != '\0' ? strtod(text, NULL) : -1;
}

static void look_at(struct interface *to, const char *folder, const char *name, const char *in,
                    const char *out, double unit) {
    snprintf(to->name, sizeof to->name, "%.23s", name);
    to->bytes = (number_in(folder, name, in) + number_in(folder, name, out)) * unit;
}

static int interfaces_now(struct interface *all) {
    const char *net = "/sys/class/net", *ib = "/sys/class/infiniband";
    int count = 0;
    for (int kind = 0; kind < 2; ++kind) {
        DIR *folder = opendir(kind == 0 ? net : ib);
        if (folder == NULL) continue;
        for (struct dirent *entry; (entry = readdir(folder)) && count < INTERFACES_MOST;) {
            const char *name = entry->d_name;
            if (name[0] == '.' || strcmp(name, "lo") == 0) continue;
            if (kind == 0) {
                look_at(&all[count], net, name, "statistics/rx_bytes", "statistics/tx_bytes", 1);
                all[count].speed = number_in(net, name, "speed") * 1e6; /* Mbit/s */
            } else { /* the first port; its counters are in words of 4 bytes, its rate in Gbit/s */
                look_at(&all[count], ib, name, "ports/1/counters/port_rcv_data",
                        "ports/1/counters/port_xmit_data", 4);
                all[count].speed = number_in(ib, name, "ports/1/rate") * 1e9;
            }
            if (all[count].speed < 0) all[count].speed = 0;
            ++count;
        }
        closedir(folder);
    }
    return count;
}

static struct interface interfaces_before[INTERFACES_MOST];
static int interface_count;

static void begin_count(void) { interface_count = interfaces_now(interfaces_before); }

/* The one with the most bytes since begin_count(); bytes 0: none had any. */
static struct interface busiest(void) {
    static struct interface now[INTERFACES_MOST];
    struct interface found;
    const int count = interfaces_now(now);
    memset(&found, 0, sizeof found);
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < interface_count; ++k) {
            if (strcmp(now[i].name, interfaces_before[k].name) != 0) continue;
            now[i].bytes -= interfaces_before[k].bytes;
            if (now[i].bytes > found.bytes) found = now[i];
            break;
        }
    return found;
}

#endif
