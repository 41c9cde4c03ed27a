#include "measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void measure_load(int port, long long count, const char *cpu) {
    char url[64], requests[32], expected[64];
    snprintf(url, sizeof url, "https://localhost:%d/1024", port);
    snprintf(requests, sizeof requests, "%lld", count);
    snprintf(expected, sizeof expected, " %lld succeeded, 0 failed, 0 errored", count);

    int output[2];
    if (pipe2(output, O_CLOEXEC) != 0) measure_fail("pipe2");
    pid_t child = fork();
    if (child < 0) measure_fail("fork");
    if (child == 0) {
        dup2(output[1], STDOUT_FILENO);
        execlp("taskset", "taskset", "-c", cpu, "h2load", "-n", requests, "-c", "4", "-m", "32", url,
               (char *)NULL);
        _exit(127);
    }
    close(output[1]);
    char text[8192];
    size_t length = 0;
    ssize_t part;
    while (length < sizeof text - 1 && (part = read(output[0], text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)part;
    }
    text[length] = 0;
    close(output[0]);
    int status;
    waitpid(child, &status, 0);
    if (status != 0) measure_stop("h2load failed (Scripts/bootstrap)", 1);
    if (!strstr(text, expected)) measure_stop(text, 1);
}
