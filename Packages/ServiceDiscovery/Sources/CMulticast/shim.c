#define _GNU_SOURCE
#include "CMulticast.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define SET(level, name, value) (setsockopt(descriptor, level, name, &(int){value}, sizeof(int)) == 0)

int netkit_multicast_open(int family, uint16_t port) {
    int descriptor = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    int good = SET(SOL_SOCKET, SO_REUSEADDR, 1);
    // For programs of the same user, this option alone allows sharing; for different users, the former. Old kernels
    // lack it.
    (void)SET(SOL_SOCKET, SO_REUSEPORT, 1);
    struct sockaddr_storage address;
    memset(&address, 0, sizeof address);
    socklen_t length;
    if (family == AF_INET) {
        good = good && SET(IPPROTO_IP, IP_PKTINFO, 1) && SET(IPPROTO_IP, IP_MULTICAST_TTL, 255) &&
               SET(IPPROTO_IP, IP_TTL, 255) && SET(IPPROTO_IP, IP_MULTICAST_LOOP, 1) &&
               // Only packets to groups that this socket has joined, not to those that other sockets have joined.
               SET(IPPROTO_IP, IP_MULTICAST_ALL, 0);
        struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        length = sizeof *v4;
    } else {
        good = good && SET(IPPROTO_IPV6, IPV6_V6ONLY, 1) && SET(IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) &&
               SET(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255) && SET(IPPROTO_IPV6, IPV6_UNICAST_HOPS, 255) &&
               SET(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        length = sizeof *v6;
    }
    if (!good || bind(descriptor, (struct sockaddr *)&address, length) != 0) {
        int failure = errno;
        close(descriptor);
        errno = failure;
        return -1;
    }
    return descriptor;
}

int netkit_multicast_limit_to_host(int descriptor, int family) {
    if (family == AF_INET) return SET(IPPROTO_IP, IP_MULTICAST_TTL, 0) ? 0 : -1;
    return SET(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 0) ? 0 : -1;
}

int netkit_multicast_join(int descriptor, int family, uint32_t interface, int leaves) {
    if (family == AF_INET) {
        struct ip_mreqn request = {.imr_multiaddr.s_addr = htonl(0xE00000FB), .imr_ifindex = (int)interface};
        return setsockopt(descriptor, IPPROTO_IP, leaves ? IP_DROP_MEMBERSHIP : IP_ADD_MEMBERSHIP, &request, sizeof request);
    }
    struct ipv6_mreq request = {.ipv6mr_interface = interface};
    inet_pton(AF_INET6, "ff02::fb", &request.ipv6mr_multiaddr);
    return setsockopt(
        descriptor, IPPROTO_IPV6, leaves ? IPV6_LEAVE_GROUP : IPV6_JOIN_GROUP, &request, sizeof request);
}

ssize_t netkit_multicast_receive(
    int descriptor, void *buffer, size_t size, struct sockaddr_storage *source, uint32_t *interface, int *is_multicast) {
    struct iovec vector = {buffer, size};
    _Alignas(struct cmsghdr) char control[256];
    struct msghdr message = {
        .msg_name = source, .msg_namelen = sizeof *source, .msg_iov = &vector, .msg_iovlen = 1,
        .msg_control = control, .msg_controllen = sizeof control};
    memset(source, 0, sizeof *source);
    ssize_t count;
    do {
        count = recvmsg(descriptor, &message, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return -1;
    *interface = 0;
    *is_multicast = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(part), sizeof info);
            *interface = (uint32_t)info.ipi_ifindex;
            *is_multicast = IN_MULTICAST(ntohl(info.ipi_addr.s_addr));
        } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(part), sizeof info);
            *interface = info.ipi6_ifindex;
            *is_multicast = IN6_IS_ADDR_MULTICAST(&info.ipi6_addr);
        }
    }
    return message.msg_flags & MSG_TRUNC ? (ssize_t)size + 1 : count;
}

ssize_t netkit_multicast_send(
    int descriptor, const void *bytes, size_t size, const struct sockaddr *to, socklen_t length, uint32_t interface) {
    struct iovec vector = {(void *)bytes, size};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    memset(control, 0, sizeof control);
    struct msghdr message = {
        .msg_name = (void *)to, .msg_namelen = length, .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control};
    struct in_pktinfo v4 = {.ipi_ifindex = (int)interface};
    // Linux would send from the address of another interface, or from 0.0.0.0 if there is none: those of loopback, which always
    // has the index 1, are not valid on other links.
    if (interface == 1) v4.ipi_spec_dst.s_addr = htonl(INADDR_LOOPBACK);
    struct in6_pktinfo v6 = {.ipi6_ifindex = interface};
    int is_v4 = to->sa_family == AF_INET;
    size_t part_size = is_v4 ? sizeof v4 : sizeof v6;
    message.msg_controllen = CMSG_SPACE(part_size);
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
    part->cmsg_type = is_v4 ? IP_PKTINFO : IPV6_PKTINFO;
    part->cmsg_len = CMSG_LEN(part_size);
    memcpy(CMSG_DATA(part), is_v4 ? (void *)&v4 : (void *)&v6, part_size);
    ssize_t count;
    do {
        count = sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return count;
}

void netkit_multicast_warn(const char *text) { syslog(LOG_WARNING, "ServiceDiscovery: %s", text); }
