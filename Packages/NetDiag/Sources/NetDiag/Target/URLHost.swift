internal import HostResolver

extension String {
    /// The host of the URL in this string; nil if the string is not a URL, or is a relative one.
    var urlHost: String? {
        guard let host = try? URLAuthority(of: self).host, !host.isEmpty else { return nil }
        return host
    }
}
