#ifndef NETKIT_BENCH_MEASURE_H
#define NETKIT_BENCH_MEASURE_H

// What every benchmark program shares, in C and in Swift: the measured region, its arguments, and a connected socket.
//
// A program is called as `bench-x ROW name=value …`. It prepares, calls measure_begin, does the row's work, and calls
// measure_end, which prints one line of JSON. Start-up, connecting ahead and tearing down are outside the region.

/// Reads the clocks: wall time and the process's CPU time, user and system.
void measure_begin(void);

/// Adds `"name":value` to the line that measure_end prints. At most 8 notes.
void measure_note(const char *name, double value);

/// Prints what passed since measure_begin for so many operations (connections, requests, calls) and bytes.
void measure_end(double operations, double bytes);

/// A TCP connection to 127.0.0.1 with TCP_NODELAY, blocking. Ends the program when it fails.
int measure_connect(int port);

/// Private dirty memory of this process in bytes: what one more idle connection really costs it.
long measure_private_bytes(void);

/// Prints "program: reason: errno text" and ends the program with status 1.
void measure_fail(const char *reason) __attribute__((noreturn));

/// Prints "program: reason" and ends the program with that status.
void measure_stop(const char *reason, int status) __attribute__((noreturn));

/// Remembers the command line for the two below.
void measure_arguments(int count, char **words);

/// The text behind `name=`; ends the program when it was not given.
const char *measure_text(const char *name);

/// The whole number behind `name=`; ends the program when it was not given or is none.
long long measure_number(const char *name);

/// A row of a C program.
struct measure_row {
    const char *name;
    void (*run)(void);
};

/// The whole main function of a C program: runs the row named by the first word.
int measure_main(int count, char **words, const struct measure_row *rows);

#endif
