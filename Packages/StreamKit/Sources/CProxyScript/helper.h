// What the parts of the helper process and the program agree on. Not for Swift.
#pragma once

// The helper's argv[0]. What follows is seconds, bytes, engines and, for tests, a system call with three arguments.
#define NETKIT_PAC_NAME "netkit: proxy script"

// The helper program of an installed shared library, relative to the library's folder.
#define NETKIT_PAC_PROGRAM "../libexec/netkit/proxy-script"

// The descriptor of the helper's end of the socket: the only one that it keeps.
#define NETKIT_PAC_SOCKET 3

// The first character of an answer that wants something, and how the functions in JavaScript write it. What follows is N and a name, O
// for this machine's own addresses, or nothing.
#define NETKIT_PAC_MARK 1
#define NETKIT_PAC_MARK_TEXT "\\x01"

// Variables of the helper's environment, for JavaScriptCore: engines.c says why.
#define NETKIT_PAC_ENVIRONMENT "JSC_useJIT=0", "JSC_useConcurrentGC=0", "JSC_numberOfGCMarkers=1", "GIGACAGE_ENABLED=0"

// An engine. Its functions write into netkit_pac_words what they complain of.
struct netkit_pac_engine {
    const char *name;
    // Makes a world without a script; 0 if that fails.
    int (*begin)(void);
    // Executes statements; 0 if they fail.
    int (*evaluate)(const char *text);
    // Calls a function of the world with two strings. Gives its result as a text that lasts until the next call; NULL if it fails.
    const char *(*call)(const char *function, const char *url, const char *host);
    // Ends the world.
    void (*end)(void);
};
extern char netkit_pac_words[1024];

// Loads the first engine that is there of those whose letters are given; 0 if there is none.
int netkit_pac_load(struct netkit_pac_engine *engine, const char *kinds);

// The statements that give a world its functions: those for scripts, and
//   netkitFound(what, addresses): adds what was looked up,
//   netkitBegin(): takes the function of the script that was evaluated,
//   netkitFind(url, host): calls it; netkitPending(): what the script's own statements want. Both give a text, with the mark if the
//   script wants something.
extern const char netkit_pac_functions[];

// The constructor. Returns at once unless this process was started as a helper; else never.
void netkit_pac_helper(int count, char **words);
