// What Swift cannot do by itself: the control messages of recvmsg(2) and sendmsg(2), which are macros, and the structures
// of IP_PKTINFO and IPV6_PKTINFO, which glibc declares only under _GNU_SOURCE.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

// A datagram socket of AF_INET or AF_INET6 for multicast DNS: bound to the port on all addresses, told the interface of each
// packet, hop limit 255, its own packets handed back. With `shares`, other programs may have the port too. -1 with errno.
int netkit_multicast_open(int family, uint16_t port, int shares);

// What is sent to the group does not leave this machine any more. 0, or -1 with errno.
int netkit_multicast_stay(int descriptor, int family);

// Joins the group of multicast DNS on one interface, or leaves it. 0, or -1 with errno.
int netkit_multicast_join(int descriptor, int family, uint32_t interface, int leaves);

// One datagram, without waiting: its length, or -1 with errno. A longer one than `size` gives `size` + 1.
ssize_t netkit_multicast_receive(
    int descriptor, void *buffer, size_t size, struct sockaddr_storage *source, uint32_t *interface, int *is_multicast);

// Sends one datagram by one interface, without waiting: its length, or -1 with errno.
ssize_t netkit_multicast_send(
    int descriptor, const void *bytes, size_t size, const struct sockaddr *to, socklen_t length, uint32_t interface);
