internal import Glibc

extension ProxySettings {
    /// The largest settings file, in bytes.
    public static let largestFile = 64 * 1024

    /// Parses the text of a settings file: lines of `name = value`.
    ///
    /// ```
    /// # for all users of this network
    /// http_proxy  = http://proxy.example:3128
    /// https_proxy = "http://proxy.example:3128, http://spare.example:3128"
    /// all_proxy   = socks5h://localhost:9050
    /// no_proxy    = .example.org, 10/8
    /// exclude_simple_hostnames = yes
    /// ```
    ///
    /// The names are those of ``environment()``, in either case. `export` may precede them, so that a shell script or
    /// `/etc/environment` can be read. In addition: several proxies separated by commas, to be tried in turn;
    /// `exceptions`, a list in the notation of Apple's settings; `exclude_simple_hostnames`, `bypass_loopback` and
    /// `ftp_passive`, which are `yes` or `no`; `auto_config_url`, the URL of a script. Other names are ignored.
    ///
    /// - Throws: `EINVAL` for an invalid line, with its number and without its value.
    public init(fileText: String) throws(StreamError) {
        self.init()
        let lines = fileText.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            do throws(StreamError) {
                try read(line)
            } catch {
                throw StreamError(posix: EINVAL, .settingsLine(index + 1, error.description), underlying: error)
            }
        }
    }

    /// Reads the settings in a file; nil if there is no such file.
    ///
    /// - Throws: the errors of ``init(fileText:)``; an `errno` if the file cannot be read; `EFBIG` if it is larger than
    ///   ``largestFile``.
    public static func file(_ path: String) throws(StreamError) -> ProxySettings? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT || errno == ENOTDIR { return nil }
        guard descriptor >= 0 else { throw StreamError(posix: errno, .fileNotOpened(path, errno)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 8192)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw StreamError(posix: errno, .fileNotOpened(path, errno)) }
            if count == 0 { break }
            bytes += piece[..<count]
            if bytes.count > largestFile { throw StreamError(posix: EFBIG, .fileNotOpened(path, EFBIG)) }
        }
        return try ProxySettings(fileText: String(decoding: bytes, as: UTF8.self))
    }

    private mutating func read(_ line: Substring) throws(StreamError) {
        var line = ProxySettings.trimmed(line)
        if line.isEmpty || line.hasPrefix("#") { return }
        if line.hasPrefix("export ") { line = ProxySettings.trimmed(line.dropFirst(7)) }
        guard let equals = line.firstIndex(of: "=") else {
            throw StreamError(posix: EINVAL, .settingsUnreadable("it contains no “=”"))
        }
        let name = ProxySettings.trimmed(line[..<equals]).lowercased()
        var value = ProxySettings.trimmed(line[line.index(after: equals)...])
        if let quote = value.first, quote == "\"" || quote == "'" {
            guard value.count >= 2, value.last == quote else {
                throw StreamError(posix: EINVAL, .settingsUnreadable("a quotation mark is not closed"))
            }
            value = value.dropFirst().dropLast()
        }
        switch name {
        case "http_proxy": http = try ProxySettings.servers(value)
        case "https_proxy": https = try ProxySettings.servers(value)
        case "ftp_proxy": ftp = try ProxySettings.servers(value)
        case "all_proxy": others = try ProxySettings.servers(value)
        case "no_proxy": bypass = ProxyBypassList(noProxy: String(value))
        case "exceptions":
            bypass = ProxyBypassList(exceptions: value.split(separator: ",").map(String.init))
        case "exclude_simple_hostnames": bypassesSimpleNames = try ProxySettings.flag(value)
        case "bypass_loopback": bypassesLoopback = try ProxySettings.flag(value)
        case "ftp_passive": usesPassiveFTP = try ProxySettings.flag(value)
        case "auto_config_url": script = value.isEmpty ? nil : .url(String(value))
        default: break
        }
    }

    private static func servers(_ list: Substring) throws(StreamError) -> [ProxyServer] {
        var servers: [ProxyServer] = []
        for element in list.split(separator: ",") { servers.append(try ProxyServer(String(trimmed(element)))) }
        return servers
    }

    private static func flag(_ value: Substring) throws(StreamError) -> Bool {
        switch value.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: throw StreamError(posix: EINVAL, .settingsUnreadable("the value must be yes or no"))
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let front = text.drop { $0 == " " || $0 == "\t" }
        guard let last = front.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return front[...last]
    }
}
