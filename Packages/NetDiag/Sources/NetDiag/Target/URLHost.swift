internal import HostResolver

extension String {
    /// The host that a URL names; nil if it is none, or relative.
    var urlHost: String? {
        guard let host = try? URLAuthority(of: self).host, !host.isEmpty else { return nil }
        return host
    }
}
