#include "Peer.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void *run(void *argument) {
    struct Peer *peer = argument;
    for (;;) {
        int connection = accept(peer->listener, NULL, NULL);
        if (connection < 0) return NULL;
        peer->connections++;
        peer->serve(peer, connection);
        close(connection);
    }
}

static int start(struct Peer *peer, in_addr_t host, void (*serve)(struct Peer *, int)) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
    socklen_t size = sizeof address;
    memset(peer, 0, sizeof *peer);
    peer->serve = serve;
    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer->listener < 0 || bind(peer->listener, (struct sockaddr *)&address, size) || listen(peer->listener, 8)) return -1;
    if (getsockname(peer->listener, (struct sockaddr *)&address, &size)) return -1;
    peer->port = ntohs(address.sin_port);
    return pthread_create(&peer->thread, NULL, run, peer) ? -1 : 0;
}

int PeerStart(struct Peer *peer, void (*serve)(struct Peer *, int)) { return start(peer, INADDR_LOOPBACK, serve); }
int PeerStartOnAllAddresses(struct Peer *peer, void (*serve)(struct Peer *, int)) { return start(peer, INADDR_ANY, serve); }

void PeerStop(struct Peer *peer) {
    shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
}

int PeerReadLine(int connection, char *line, size_t size) {
    size_t count = 0;
    char byte;
    while (recv(connection, &byte, 1, 0) == 1) {
        if (byte == '\n') {
            if (count > 0 && line[count - 1] == '\r') count--;
            line[count] = 0;
            return (int)count;
        }
        if (count + 1 < size) line[count++] = byte;
    }
    return -1;
}

void PeerSend(int connection, const char *text) {
    size_t count = strlen(text);
    while (count > 0) {
        ssize_t sent = send(connection, text, count, MSG_NOSIGNAL);
        if (sent <= 0) return;
        text += sent;
        count -= (size_t)sent;
    }
}

int openSockets(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        if (getsockname(atoi(entry->d_name), (struct sockaddr *)&address, &size) == 0 && address.ss_family == AF_INET) count++;
    }
    if (folder != NULL) closedir(folder);
    return count;
}
