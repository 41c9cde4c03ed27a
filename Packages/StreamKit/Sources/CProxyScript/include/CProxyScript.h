// Runs proxy auto-configuration scripts in a helper process: this program executed anew, and confined before it reads a script.
//
// The helper is made by vfork(2) and execve(2) of /proc/self/exe, so that its memory holds nothing of this process. A constructor
// in helper.c takes over before main() and never returns. See start.c for the reasons.
//
// Both sides write frames into one socket: a letter, the length of the text as four bytes (least significant first), the text.
//
// | from the helper | text |
// |---|---|
// | R | the engine's name: the helper is confined and awaits the request |
// | M | nothing: there is no engine |
// | N | a name whose addresses the script wants |
// | O | nothing: the script wants this machine's own addresses |
// | A | the script's answer |
// | I, P, F | the engine's message: it did not start, the script cannot be parsed, the script failed |
//
// | to the helper | text |
// |---|---|
// | Q | the URL, a NUL, the host, a NUL, the script |
// | L | addresses, separated by semicolons; nothing if there is none |
#pragma once

// Letters of the engines.
enum { NETKIT_PAC_JAVASCRIPTCORE = 'j', NETKIT_PAC_PACPARSER = 'p' };

// Why this process can start no helper; NULL if it can. Examines it the first time.
const char *netkit_pac_missing(void);

// Starts a helper. Gives the descriptor of the socket, or -errno; sets `process`.
//
// seconds: of processor time, and after which the helper ends in any case. bytes: of memory beyond what the helper begins with.
// engines: letters, in the order in which the helper tries to load them.
int netkit_pac_start(unsigned seconds, unsigned long bytes, const char *engines, int *process);

// As netkit_pac_start, for tests: once confined, and told to go on by a byte, the helper makes one system call with this number and
// ends. R comes before the call.
int netkit_pac_start_calling(long number, const unsigned long arguments[3], const char *engines, int *process);

// Ends the helper if it still runs, and forgets it. Gives its wait status, or -1.
int netkit_pac_end(int process);
