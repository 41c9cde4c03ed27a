#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

static int argument_count;
static char **argument_words;

static struct timespec begin_wall;
static struct rusage begin_usage;
static struct timespec begin_cpu;

static int measures_other_process;
static clockid_t cpu_clock;

static char notes[8][64];
static int note_count;

static double timeval_seconds(struct timeval later, struct timeval earlier) {
    return (double)(later.tv_sec - earlier.tv_sec) + (double)(later.tv_usec - earlier.tv_usec) * 1e-6;
}

static double timespec_seconds(struct timespec later, struct timespec earlier) {
    return (double)(later.tv_sec - earlier.tv_sec) + (double)(later.tv_nsec - earlier.tv_nsec) * 1e-9;
}

void measure_process(int process) {
    errno = clock_getcpuclockid(process, &cpu_clock);
    if (errno != 0) measure_fail("clock_getcpuclockid");
    measures_other_process = 1;
}

void measure_begin(void) {
    getrusage(RUSAGE_SELF, &begin_usage);
    if (measures_other_process) clock_gettime(cpu_clock, &begin_cpu);
    clock_gettime(CLOCK_MONOTONIC, &begin_wall);
}

void measure_note(const char *name, double value) {
    if (note_count < 8) snprintf(notes[note_count++], sizeof notes[0], ",\"%s\":%.3f", name, value);
}

void measure_end(double operations, double bytes) {
    struct timespec wall;
    struct rusage usage;
    clock_gettime(CLOCK_MONOTONIC, &wall);
    getrusage(RUSAGE_SELF, &usage);
    double user = timeval_seconds(usage.ru_utime, begin_usage.ru_utime);
    double system = timeval_seconds(usage.ru_stime, begin_usage.ru_stime);
    if (measures_other_process) {
        struct timespec cpu;
        clock_gettime(cpu_clock, &cpu);
        user = timespec_seconds(cpu, begin_cpu);
        system = 0;
    }
    printf("{\"wall\":%.9f,\"user\":%.6f,\"system\":%.6f,\"operations\":%.0f,\"bytes\":%.0f",
           timespec_seconds(wall, begin_wall), user, system, operations, bytes);
    for (int i = 0; i < note_count; i++) fputs(notes[i], stdout);
    puts("}");
    fflush(stdout);
}

int measure_connect(int port) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0) measure_fail("socket");
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) measure_fail("connect");
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

size_t measure_response_length(const char *bytes, size_t count) {
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end) return 0;
    const char *length = strcasestr(bytes, "content-length:");
    return (size_t)(end + 4 - bytes) + (length ? strtoul(length + 15, NULL, 10) : 0);
}

long measure_private_bytes(void) {
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    if (!file) measure_fail("/proc/self/smaps_rollup");
    char line[256];
    long kibibytes = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "Private_Dirty: %ld", &kibibytes) == 1) break;
    }
    fclose(file);
    return kibibytes * 1024;
}

void measure_fail(const char *reason) {
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, reason, strerror(errno));
    exit(1);
}

void measure_stop(const char *reason, int status) {
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, reason);
    exit(status);
}

void measure_arguments(int count, char **words) {
    argument_count = count;
    argument_words = words;
}

const char *measure_text(const char *name) {
    size_t length = strlen(name);
    for (int i = 2; i < argument_count; i++) {
        const char *word = argument_words[i];
        if (strncmp(word, name, length) == 0 && word[length] == '=') return word + length + 1;
    }
    fprintf(stderr, "%s: %s= is missing\n", program_invocation_short_name, name);
    exit(2);
}

long long measure_number(const char *name) {
    const char *text = measure_text(name);
    char *end;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != 0) {
        fprintf(stderr, "%s: %s=%s is not a number\n", program_invocation_short_name, name, text);
        exit(2);
    }
    return number;
}

int measure_main(int count, char **words, const struct measure_row *rows) {
    signal(SIGPIPE, SIG_IGN);
    measure_arguments(count, words);
    for (; rows->name; rows++) {
        if (count > 1 && strcmp(words[1], rows->name) == 0) {
            rows->run();
            return 0;
        }
    }
    fprintf(stderr, "%s: no row named '%s'\n", program_invocation_short_name, count > 1 ? words[1] : "");
    return 2;
}
