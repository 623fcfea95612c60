import './style.css' // before what is imported by the views
import { render } from 'preact'
import './style.css' // first: what views add comes after it
import { App } from './app'

render(<App />, document.getElementById('app')!)
