-- A dead letter of something that never was a request: a refused seed, a garbled value.
bury(args.id, nil, args.letter, args.keep)
return 1
