#ifndef NETKIT_BENCH_NGHTTP2_ROWS_H
#define NETKIT_BENCH_NGHTTP2_ROWS_H

#include <nghttp2/nghttp2.h>

/// The fields of a request for 1 KiB, and of its response.
extern const nghttp2_nv exchange_fields[2][6];

void decode_row(void);
void decode_owned_row(void);
void encode_row(void);
void exchange_row(void);
void exchange_owned_row(void);
void exchange_heads_row(void);
void data_row(void);
void requests_row(void);
void read_row(void);
void load_row(void);

#endif
