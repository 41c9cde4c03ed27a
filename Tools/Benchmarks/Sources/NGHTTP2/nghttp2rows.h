#ifndef NETKIT_BENCH_NGHTTP2_ROWS_H
#define NETKIT_BENCH_NGHTTP2_ROWS_H

void decode_row(void);
void decode_owned_row(void);
void encode_row(void);
void exchange_row(void);
void data_row(void);

#endif
