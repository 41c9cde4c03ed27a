internal import FoundationEssentials

extension String {
    /// The host that a URL names; nil if it is none, or relative.
    var urlHost: String? {
        URL(string: self)?.host(percentEncoded: false).map {
            $0.hasPrefix("[") ? String($0.dropFirst().dropLast()) : $0
        }
    }
}
