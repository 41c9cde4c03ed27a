#ifndef PEER_H
#define PEER_H

#include <pthread.h>
#include <stddef.h>

/// A server on 127.0.0.1 with one thread, which serves one connection at a time.
struct Peer {
    int listener;
    unsigned short port;
    pthread_t thread;
    void (*serve)(struct Peer *peer, int connection);
    /// The number of connections accepted. Read it after PeerStop.
    int connections;
    /// For the serving function.
    char seen[4096];
};

/// Starts a server. Returns 0, or -1 with errno.
int PeerStart(struct Peer *peer, void (*serve)(struct Peer *peer, int connection));
/// Starts a server that is reached at all addresses of this machine, as a discovered service is.
int PeerStartOnAllAddresses(struct Peer *peer, void (*serve)(struct Peer *peer, int connection));
/// Ends the server after the current connection.
void PeerStop(struct Peer *peer);
/// Reads a line into the buffer, without its end. Returns its length, or -1 at the end of the connection.
int PeerReadLine(int connection, char *line, size_t size);
/// Sends all bytes of a text.
void PeerSend(int connection, const char *text);

/// The number of open IPv4 sockets of the process.
int openSockets(void);

#endif
