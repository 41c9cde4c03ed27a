#ifndef NETKIT_BENCH_FLOORS_H
#define NETKIT_BENCH_FLOORS_H

// The lower bounds of the rows on this machine: plain C that does only the work of the row.

void read_row(void);
void write_row(void);
void writev_row(void);
void ping_row(void);
void ping_epoll_row(void);
void ping_many_row(void);
void idle_row(void);
void http_row(void);
void http_many_row(void);
void parse_request_row(void);
void parse_response_row(void);
void serialize_row(void);
void resolve_row(void);

#endif
