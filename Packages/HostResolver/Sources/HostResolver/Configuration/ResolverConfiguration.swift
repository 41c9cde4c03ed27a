public import DNSWire

/// The name servers and how to query them, as in `/etc/resolv.conf` (resolv.conf(5)).
///
/// ```swift
/// import DNSWire
/// import HostResolver
///
/// var configuration = ResolverConfiguration(parsing: "nameserver 192.0.2.53\noptions ndots:2 timeout:1")
/// configuration.search = [DNSName("example.org")!]
/// ```
///
/// Parsing never fails: as in the C library, invalid lines are skipped and values are clamped to its limits.
public struct ResolverConfiguration: Hashable, Sendable {
    /// The maximum number of servers; the C library has 3.
    package static let maximumServers = 8
    /// The maximum number of search domains.
    package static let maximumSearchDomains = 32
    /// The largest text that is read, in bytes; the rest is ignored.
    static let maximumTextSize = 64 * 1024

    /// The servers, in the order of the queries. If the file names no server, the one on this machine.
    public var servers: [SocketAddress]
    /// Whether the file named no server, so that ``servers`` is the one on this machine, which may not exist.
    public private(set) var isFallback = false
    /// The domains to append to names that are not fully qualified.
    public var search: [DNSName]
    /// The number of dots (0…15) from which on a name is tried unchanged first, before the search domains (`ndots`).
    public var dotsBeforeSearch = 1
    /// The time limit of one server in the first round (1…30 s); later rounds are longer.
    public var timeout: Duration = .seconds(5)
    /// The number of rounds through the list of servers (1…5).
    public var attempts = 2
    /// Whether each query starts with another server (`rotate`).
    public var rotatesServers = false
    /// Whether queries use EDNS (RFC 6891), so that answers over 512 bytes need no TCP. A server that rejects or mangles EDNS is
    /// queried again without it, and one that does not answer in half of its time, too.
    public var usesEDNS = true
    /// Whether to trust the servers' claim that they validated signatures (`trust-ad`). Otherwise answers never report
    /// it.
    public var trustsAuthenticatedData = false
    /// Whether queries use TCP only (`use-vc`).
    public var usesTCPOnly = false
    /// Whether single labels are never looked up without a search domain (`no-tld-query`).
    public var skipsTopLevelQueries = false

    /// Creates a configuration with the given servers and search domains, and the defaults for all else.
    public init(servers: [SocketAddress], search: [DNSName] = []) {
        self.servers = servers
        self.search = search
    }

    /// Parses the text of a `resolv.conf`.
    ///
    /// - Parameters:
    ///   - text: The text of the file, of which at most 64 KiB are read.
    ///   - hostName: This machine's name. Its domain is the search list if the file has none.
    ///   - localDomain: The environment variable `LOCALDOMAIN`, which replaces the search list.
    ///   - options: The environment variable `RES_OPTIONS`, which overrides the options of the file.
    public init(parsing text: String, hostName: String? = nil, localDomain: String? = nil, options: String? = nil) {
        self.init(servers: [])
        var hasSearch = false
        for line in text.utf8.prefix(Self.maximumTextSize).split(separator: UInt8(ascii: "\n")) {
            if line.first == UInt8(ascii: "#") || line.first == UInt8(ascii: ";") { continue }
            let words = line.words
            guard let keyword = words.first, words.count > 1 else { continue }
            switch keyword {
            case "nameserver": addServer(words[1])
            case "domain":
                hasSearch = true
                setSearch(words[1...1])
            case "search":
                hasSearch = true
                setSearch(words[1...])
            case "options": setOptions(words[1...])
            default: break
            }
        }
        if let localDomain {
            setSearch(localDomain.utf8.words[...])
        } else if !hasSearch, let hostName, let dot = hostName.utf8.firstIndex(of: UInt8(ascii: ".")) {
            setSearch([String(hostName[hostName.utf8.index(after: dot)...])])
        }
        if let options { setOptions(options.utf8.words[...]) }
        isFallback = servers.isEmpty
        if isFallback { servers = [.ip(.v4(.loopback), port: 53)] }
    }

    private mutating func addServer(_ text: String) {
        guard servers.count < Self.maximumServers, let address = IPAddress(text) else { return }
        servers.append(.ip(address, port: 53))
    }

    /// Replaces the search list: the last `domain` or `search` line wins. A root domain means the unchanged name, which
    /// is tried anyway.
    private mutating func setSearch(_ domains: ArraySlice<String>) {
        search = []
        for domain in domains {
            guard search.count < Self.maximumSearchDomains, let name = DNSName(domain), name != .root else {
                continue
            }
            if !search.contains(name) { search.append(name) }
        }
    }

    private mutating func setOptions(_ options: ArraySlice<String>) {
        for option in options {
            let parts = option.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1).map { Substring($0) }
            let value = parts.count == 2 ? Int(parts[1]) : nil
            switch parts.first {
            case "ndots": if let value, value >= 0 { dotsBeforeSearch = min(value, 15) }
            case "timeout": if let value, value >= 1 { timeout = .seconds(min(value, 30)) }
            case "attempts": if let value, value >= 1 { attempts = min(value, 5) }
            case "rotate": rotatesServers = true
            case "edns0": usesEDNS = true
            case "trust-ad": trustsAuthenticatedData = true
            case "use-vc": usesTCPOnly = true
            case "no-tld-query": skipsTopLevelQueries = true
            default: break
            }
        }
    }
}

extension ResolverConfiguration {
    /// Returns the names to look up, in order, for a name as a person wrote it (resolv.conf(5), `ndots` and `search`).
    public func candidates(for host: HostName) -> [DNSName] {
        guard let name = DNSName(host) else { return [] }
        if host.isFullyQualified { return [name] }
        let dots = name.labels.count - 1
        let searched = search.compactMap(name.appending)
        if dots == 0, skipsTopLevelQueries, !searched.isEmpty { return searched }
        return dots >= dotsBeforeSearch ? [name] + searched : searched + [name]
    }
}
