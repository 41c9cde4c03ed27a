#ifndef NETKIT_BENCH_MEASURE_H
#define NETKIT_BENCH_MEASURE_H

#include <stddef.h>

// The parts shared by all benchmark programs, in C and in Swift: the measured region, the arguments, and a connected socket.
//
// A program is called as `bench-x ROW name=value …`. It prepares, calls measure_begin, does the row's work, and calls
// measure_end, which prints one line of JSON. Start-up, connections made in advance and cleanup are outside the region.

/// Reads the clocks: wall time and the process's CPU time, user and system.
void measure_begin(void);

/// Measures the CPU time of another process instead, as user time. Called before measure_begin.
void measure_process(int process);

/// Loads a server of HTTP/2 on this machine: h2load, on this CPU, asks `count` times for /1024 over TLS, on 4 connections with 32 streams
/// each. Ends the program unless all requests succeed.
void measure_load(int port, long long count, const char *cpu);

/// Adds `"name":value` to the line that measure_end prints. At most 8 notes.
void measure_note(const char *name, double value);

/// Prints the time since measure_begin, with the number of operations (connections, requests, calls) and bytes.
void measure_end(double operations, double bytes);

/// A blocking TCP connection to 127.0.0.1 with TCP_NODELAY. Ends the program if connecting fails.
int measure_connect(int port);

/// The length of the HTTP response at the start of `bytes`, by minimal HTTP: the end of the head, and Content-Length. 0 if the head is
/// incomplete. A zero byte must follow the bytes.
size_t measure_response_length(const char *bytes, size_t count);

/// The private dirty memory of this process in bytes: the real cost of idle connections.
long measure_private_bytes(void);

/// Prints "program: reason: errno text" and ends the program with status 1.
void measure_fail(const char *reason) __attribute__((noreturn));

/// Prints "program: reason" and ends the program with that status.
void measure_stop(const char *reason, int status) __attribute__((noreturn));

/// Stores the command line for the two functions below.
void measure_arguments(int count, char **words);

/// The value of `name=`; ends the program if it is missing.
const char *measure_text(const char *name);

/// The value of `name=` as an integer; ends the program if it is missing or not an integer.
long long measure_number(const char *name);

/// A row of a C program.
struct measure_row {
    const char *name;
    void (*run)(void);
};

/// The whole main function of a C program: runs the row named by the first word.
int measure_main(int count, char **words, const struct measure_row *rows);

#endif
