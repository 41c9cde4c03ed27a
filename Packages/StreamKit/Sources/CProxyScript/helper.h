// What the two sides of the helper process agree on. Not for Swift.
#pragma once

// The helper's argv[0]. What follows is seconds, bytes and, for tests, a system call with three arguments.
#define NETKIT_PAC_NAME "netkit: proxy script"

// The helper program of an installed shared library, relative to the library's folder.
#define NETKIT_PAC_PROGRAM "../libexec/netkit/proxy-script"

// The descriptor of the helper's end of the socket: the only one that it keeps.
#define NETKIT_PAC_SOCKET 3

// The functions of libpacparser that are used, as pacparser(3) declares them.
struct netkit_pac_engine {
    int (*init)(void);
    int (*parse)(const char *script);
    char *(*find)(const char *url, const char *host);
    void (*cleanup)(void);
};

// Loads libpacparser. Gives why it cannot, in `reason` or a constant; NULL if it can. `library` is for dlclose.
const char *netkit_pac_load(struct netkit_pac_engine *engine, void **library, char *reason, unsigned long size);

// The constructor. Returns at once unless this process was started as a helper; else never.
void netkit_pac_helper(int count, char **words);
