/// How to ask name servers: what `/etc/resolv.conf` says (resolv.conf(5)).
///
/// ```swift
/// var configuration = ResolverConfiguration(parsing: "nameserver 192.0.2.53\noptions ndots:2 timeout:1")
/// configuration.search = [DNSName("example.org")!]
/// ```
///
/// Reading never fails: lines that make no sense are skipped, as the C library does, and values are held to its limits.
public struct ResolverConfiguration: Hashable, Sendable {
    /// Most servers that are kept; the C library stops at 3.
    public static let mostServers = 8
    /// Most search domains that are kept.
    public static let mostSearchDomains = 32
    /// Largest text that is read; the rest is ignored.
    public static let largestText = 64 * 1024

    /// The servers, in the order to ask them. Without any in the file: the one on this machine.
    public var servers: [SocketAddress]
    /// The text named no server, so the one on this machine is asked, which may not be there.
    public private(set) var isFallback = false
    /// Domains to try behind names that are not fully qualified.
    public var search: [DNSName]
    /// A name with at least this many dots is tried as it is first (0…15).
    public var dotsBeforeSearch = 1
    /// How long one server may take in the first round (1…30 s); later rounds are longer.
    public var timeout: Duration = .seconds(5)
    /// How often the list of servers is gone through (1…5).
    public var attempts = 2
    /// Start with another server each time (`rotate`).
    public var rotatesServers = false
    /// Send EDNS (RFC 6891), so that answers over 512 bytes need no TCP. Servers that do not know it are asked without.
    public var usesExtensions = true
    /// Believe the servers' word that they checked signatures (`trust-ad`); else that word is removed from answers.
    public var trustsAuthenticatedData = false
    /// Use TCP only (`use-vc`).
    public var usesTCPOnly = false
    /// Do not ask for single labels as they are (`no-tld-query`).
    public var skipsTopLevelQueries = false

    /// A configuration with these servers, everything else as it is without a file.
    public init(servers: [SocketAddress], search: [DNSName] = []) {
        self.servers = servers
        self.search = search
    }

    /// Reads the text of a `resolv.conf`.
    ///
    /// - Parameters:
    ///   - text: the file; no more than ``largestText`` bytes of it are read.
    ///   - hostName: this machine's name; its domain is the search list if the file has none.
    ///   - localDomain: the environment's `LOCALDOMAIN`, which replaces the search list.
    ///   - options: the environment's `RES_OPTIONS`, which come after those of the file.
    public init(parsing text: String, hostName: String? = nil, localDomain: String? = nil, options: String? = nil) {
        self.init(servers: [])
        var hasSearch = false
        for line in String(decoding: text.utf8.prefix(Self.largestText), as: UTF8.self).split(
            whereSeparator: \.isNewline)
        {
            if line.first == "#" || line.first == ";" { continue }
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let keyword = words.first, words.count > 1 else { continue }
            switch keyword {
            case "nameserver": addServer(String(words[1]))
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
            setSearch(localDomain.split(whereSeparator: \.isWhitespace)[...])
        } else if !hasSearch, let dot = hostName?.firstIndex(of: "."), let domain = hostName?[dot...].dropFirst() {
            setSearch([domain])
        }
        if let options { setOptions(options.split(whereSeparator: \.isWhitespace)[...]) }
        isFallback = servers.isEmpty
        if isFallback { servers = [.ip(.v4(.loopback), port: 53)] }
    }

    private mutating func addServer(_ text: String) {
        guard servers.count < Self.mostServers, let address = IPAddress(text) else { return }
        servers.append(.ip(address, port: 53))
    }

    /// The last `domain` or `search` line counts. A root in the list means "the name as it is", which is tried anyway.
    private mutating func setSearch(_ domains: ArraySlice<Substring>) {
        search = []
        for domain in domains {
            guard search.count < Self.mostSearchDomains, let name = DNSName(String(domain)), name != .root else {
                continue
            }
            if !search.contains(name) { search.append(name) }
        }
    }

    private mutating func setOptions(_ options: ArraySlice<Substring>) {
        for option in options {
            let parts = option.split(separator: ":", maxSplits: 1)
            let value = parts.count == 2 ? Int(parts[1]) : nil
            switch parts.first {
            case "ndots": if let value, value >= 0 { dotsBeforeSearch = min(value, 15) }
            case "timeout": if let value, value >= 1 { timeout = .seconds(min(value, 30)) }
            case "attempts": if let value, value >= 1 { attempts = min(value, 5) }
            case "rotate": rotatesServers = true
            case "edns0": usesExtensions = true
            case "trust-ad": trustsAuthenticatedData = true
            case "use-vc": usesTCPOnly = true
            case "no-tld-query": skipsTopLevelQueries = true
            default: break
            }
        }
    }
}

extension ResolverConfiguration {
    /// The names to ask for, in order, for a name that a person wrote (resolv.conf(5), `ndots` and `search`).
    public func candidates(for host: HostName) -> [DNSName] {
        guard let name = DNSName(host) else { return [] }
        if host.isFullyQualified { return [name] }
        let dots = name.labels.count - 1
        let searched = search.compactMap(name.appending)
        if dots == 0, skipsTopLevelQueries, !searched.isEmpty { return searched }
        return dots >= dotsBeforeSearch ? [name] + searched : searched + [name]
    }
}
