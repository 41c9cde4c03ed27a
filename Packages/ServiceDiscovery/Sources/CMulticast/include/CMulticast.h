// Functions that Swift cannot call directly: control messages of recvmsg(2) and sendmsg(2) use macros, and glibc
// declares the structures of IP_PKTINFO and IPV6_PKTINFO only under _GNU_SOURCE.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

// A datagram socket of AF_INET or AF_INET6 for multicast DNS: bound to the port on all addresses, with the interface of
// each packet, hop limit 255, and loopback of its own packets. Other sockets may use the port as well.
// Returns -1 with errno on failure.
int netkit_multicast_open(int family, uint16_t port);

// Limits packets to the group to this machine. Returns 0, or -1 with errno.
int netkit_multicast_limit_to_host(int descriptor, int family);

// Joins the multicast DNS group on one interface, or leaves it. Returns 0, or -1 with errno.
int netkit_multicast_join(int descriptor, int family, uint32_t interface, int leaves);

// Receives one datagram without waiting. Returns its length, `size` + 1 if it is longer than `size`, or -1 with errno.
ssize_t netkit_multicast_receive(
    int descriptor, void *buffer, size_t size, struct sockaddr_storage *source, uint32_t *interface, int *is_multicast);

// Sends one datagram on one interface without waiting. Returns its length, or -1 with errno.
ssize_t netkit_multicast_send(
    int descriptor, const void *bytes, size_t size, const struct sockaddr *to, socklen_t length, uint32_t interface);

// Writes a warning to the system's log.
void netkit_multicast_warn(const char *text);
