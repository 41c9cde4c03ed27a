internal import HostResolver

/// What a link has to tell.
enum LinkEvent: Hashable {
    /// A record came that answers a question, or went.
    case added(DNSRecord)
    case removed(DNSRecord)
    /// The owner of a name says that it has no records of a type that is asked for (RFC 6762 §6.1).
    case absent(RecordKey)
    /// The names of a publication are this host's.
    case established(Int)
    /// Somebody else has the name of a publication.
    case conflict(Int)
}
