/// The listings of the same guide in their original form: `NetService`, `NetServiceBrowser` and their delegates, which
/// `NetKitFoundation` provides on Linux. 3-1 is `NetServiceGuide.Chapter3.listing1`; `swift run listing foundation 3-1` runs it.
///
/// Call each on a thread with a running run loop. The delegate is called there; the caller must keep it alive. Appendix A is about
/// CFNetServices: see ``ServicesGuide/AppendixA``.
public enum NetServiceGuide {}
