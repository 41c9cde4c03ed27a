internal import FoundationEssentials

extension URL {
    /// The URL without user, password and fragment: for reports and errors.
    var publicText: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "" }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        return parts.string ?? ""
    }
}
