#include <stddef.h>

#include "measure.h"
#include "nghttp2rows.h"

int main(int count, char **words) {
    static const struct measure_row rows[] = {
        {"decode", decode_row},
        {"decode-owned", decode_owned_row},
        {"encode", encode_row},
        {"exchange", exchange_row},
        {"exchange-owned", exchange_owned_row},
        {"exchange-heads", exchange_heads_row},
        {"data", data_row},
        {"requests", requests_row},
        {"read", read_row},
        {"load", load_row},
        {NULL, NULL},
    };
    return measure_main(count, words, rows);
}
