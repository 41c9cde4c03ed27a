#include "floors.h"

#include <stddef.h>

#include "measure.h"

int main(int count, char **words) {
    static const struct measure_row rows[] = {
        {"read", read_row},
        {"write", write_row},
        {"writev", writev_row},
        {"ping", ping_row},
        {"ping-epoll", ping_epoll_row},
        {"ping-many", ping_many_row},
        {"idle", idle_row},
        {"requests", http_row},
        {"requests-many", http_many_row},
        {"parse-request", parse_request_row},
        {"parse-response", parse_response_row},
        {"serialize", serialize_row},
        {"resolve", resolve_row},
        {NULL, NULL},
    };
    return measure_main(count, words, rows);
}
