internal import FoundationEssentials
internal import StreamKit

#if Logging
internal import Logging
#endif

/// What a load decides between two requests: no step of its report tells of it.
enum LoadNews {
    /// A kept connection was dead.
    case sendsAgain
    case triesNextProxy
    case followsRedirect(URL)
}

// Without the trait `Logging` nobody is told, and nothing is done for it.

extension LoadLog {
    /// Tells the load's logger.
    @inline(__always)
    func tell(_ news: LoadNews) {
        #if Logging
        let logger = deferred?.logger
        switch news {
        case .sendsAgain: logger?.info("Sending the request again: the kept connection was closed")
        case .triesNextProxy: logger?.info("Trying the next proxy")
        case .followsRedirect(let url): logger?.debug("Redirected", metadata: ["target": "\(url.placeText)"])
        }
        #endif
    }

    /// Tells the load's logger that a request is over.
    @inline(__always)
    func tell(_ step: @autoclosure () -> ConnectionReport.Step) {
        #if Logging
        if let logger = deferred?.logger { step().log(to: logger) }
        #endif
    }
}

#if Logging
extension URL {
    /// The URL without user, password, query and fragment: what a log may keep.
    fileprivate var placeText: String {
        publicText.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
}
#endif
