import DNSWire
import HostResolver

/// The path of `netkit resolve --trace`: from the root servers, each referral leads to the servers of a zone below (RFC 1034 §5.3.3).
/// It sends nothing.
///
/// ```swift
/// var trace = ResolutionTrace(question, rootServers: servers)
/// switch trace.take(answer) {
/// case .referral: // query trace.servers next
/// …
/// }
/// ```
struct ResolutionTrace {
    /// A name server, and its addresses in the referral (glue); none if they must be looked up.
    struct Server: Equatable {
        var name: DNSName
        var addresses: [IPAddress]
    }

    /// What a server's answer means.
    enum Outcome: Equatable {
        /// The servers of a zone below are known now.
        case referral
        case answer([DNSRecord])
        /// The name exists, but has no record of the type.
        case noData
        case noSuchName
        /// The server does not help, or does not answer; the reason in words.
        case useless(String)
    }

    /// The most referrals of one trace, so that it ends.
    static let maximumReferrals = 32
    /// The most servers of a zone that are kept.
    static let maximumServers = 16
    /// The most addresses of a server that are kept.
    static let maximumAddresses = 4

    let question: DNSQuestion
    /// The zone whose servers are queried next.
    private(set) var zone = DNSName.root
    private(set) var servers: [Server]
    /// The DS records of the zone in the referral to it; empty if the zone is not signed.
    private(set) var delegation: [DNSRecord] = []

    init(_ question: DNSQuestion, rootServers: [Server]) {
        self.question = question
        servers = rootServers
    }

    /// Handles the answer of a server of the zone.
    mutating func take(_ answer: DNSMessage) -> Outcome {
        if answer.responseCode == .nameError { return .noSuchName }
        guard answer.responseCode == .noError else { return .useless(Self.text(answer.responseCode)) }
        if !answer.answers.isEmpty {
            let isRelevant = answer.answers.contains {
                $0.name == question.name && ($0.type == question.type || $0.type == .cname)
            }
            // The signatures are those that the query requests for the referrals.
            let records = answer.answers.filter { $0.type != Self.signature }
            return isRelevant ? .answer(records) : .useless("records of another name or type")
        }
        let referrals = answer.authorities.filter { $0.type == .ns }
        guard let next = referrals.first?.name else {
            return answer.authorities.contains { $0.type == .soa }
                ? .noData : .useless("neither an answer nor a referral")
        }
        // A referral must lead downwards, or it would be a loop, or an answer about another name.
        guard next != zone, Self.isBelow(next, zone), Self.isBelow(question.name, next) else {
            return .useless("a referral to \(next), which does not lead to the name")
        }
        delegation = answer.authorities.filter { $0.type == .ds && $0.name == next }
        servers = Self.servers(in: referrals.filter { $0.name == next }, glue: answer.additionals, from: zone)
        zone = next
        return .referral
    }

    /// RRSIG (RFC 4034 §3).
    private static let signature = DNSRecordType(rawValue: 46)

    /// A response code by its usual name.
    private static func text(_ code: DNSResponseCode) -> String {
        switch code {
        case .formatError: "response code FORMERR"
        case .serverFailure: "response code SERVFAIL"
        case .notImplemented: "response code NOTIMP"
        case .refused: "response code REFUSED"
        default: "response code \(code.rawValue)"
        }
    }

    /// The servers of NS records.
    ///
    /// - Parameter zone: the zone of the server that answered; it has no authority for addresses of names elsewhere.
    static func servers(in records: [DNSRecord], glue: [DNSRecord], from zone: DNSName) -> [Server] {
        let names = records.compactMap { if case .ns(let name) = $0.data { name } else { nil } }
        let servers = names.prefix(maximumServers).map { name in
            let addresses = isBelow(name, zone) ? glue.filter { $0.name == name }.compactMap(\.data.address) : []
            return Server(name: name, addresses: Array(addresses.prefix(maximumAddresses)))
        }
        // Those whose addresses are known come first.
        return servers.filter { !$0.addresses.isEmpty } + servers.filter(\.addresses.isEmpty)
    }

    /// Whether a name is that of a zone, or below it.
    static func isBelow(_ name: DNSName, _ zone: DNSName) -> Bool {
        let (labels, suffix) = (name.labels, zone.labels)
        return labels.count >= suffix.count
            && DNSName(labels: labels.suffix(suffix.count)) == DNSName(labels: suffix)
    }
}
