/// Something to call, once, when a ``WaitPoint``'s half has news: the hook behind callbacks and blocked threads.
///
/// ``fire()`` is called on whatever thread has the news (a loop's, or the one that closes), with no lock held. It must be
/// short and must not wait. A watcher fires once per ``WaitPoint/watch(_:for:with:)``.
open class Watcher: @unchecked Sendable {
    // Unchecked only because an open class cannot be checked; this class has no state, and subclasses answer for theirs.

    /// Makes a watcher; subclasses add what ``fire()`` needs.
    public init() {}

    /// Called once when there may be news.
    open func fire() {}
}
