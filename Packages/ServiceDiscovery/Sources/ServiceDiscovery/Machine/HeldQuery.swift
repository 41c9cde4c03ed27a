internal import HostResolver

/// A query whose list of known answers goes on in further packets (RFC 6762 §7.2).
struct HeldQuery {
    let source: IPAddress
    var questions: [DNSQuestion]
    var known: [DNSRecord]
    let datagram: Datagram
    var due: DiscoveryTime
}
